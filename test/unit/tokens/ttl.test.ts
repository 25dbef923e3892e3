import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  computeTokenLifetime,
  type GrantedTokenLifetime,
  type TokenLifetimeRequest,
} from '../../../shared/tokens/ttl.ts'

/** Epoch milliseconds. */
const NOW = 1_800_000_000_250
const MONTH = 2_764_800
const none: TokenLifetimeRequest = { increment: 0, ttl: 0, period: 0, methodMax: 0, explicitMax: 0 }
const system = { default: MONTH, max: MONTH }

const granted = (wish: Partial<TokenLifetimeRequest>, mount = system, age = 0): GrantedTokenLifetime => {
  const result = computeTokenLifetime({ ...none, ...wish }, mount, NOW - age * 1000, NOW)
  if (!result.ok) throw new Error(result.fault.why)
  return result.value
}

describe('the TTL of a login token', () => {
  test.each<
    [name: string, wish: Partial<TokenLifetimeRequest>, mount: typeof system, ttl: number, warnings: number]
  >([
    ['nothing said: the mount’s default', {}, system, MONTH, 0],
    ['the mount’s own default', {}, { default: 60, max: 3600 }, 60, 0],
    ['a default above the maximum', {}, { default: 7200, max: 3600 }, 3600, 0],
    ['the role’s ttl', { ttl: 1800 }, system, 1800, 0],
    ['a ttl above the mount’s maximum', { ttl: 7200 }, { default: 60, max: 3600 }, 3600, 1],
    ['a ttl above the role’s maximum', { ttl: 7200, methodMax: 600 }, system, 600, 1],
    ['the default above the role’s maximum', { methodMax: 600 }, system, 600, 0],
    [
      'a role’s maximum above the mount’s',
      { ttl: 7200, methodMax: 7200 },
      { default: 60, max: 3600 },
      3600,
      1,
    ],
    ['an explicit maximum', { ttl: 7200, explicitMax: 300 }, system, 300, 1],
    [
      'the least of all maxima',
      { ttl: 7200, methodMax: 500, explicitMax: 400 },
      { default: 60, max: 450 },
      400,
      1,
    ],
    [
      'an explicit maximum above the mount’s',
      { ttl: 7200, explicitMax: 9000 },
      { default: 60, max: 3600 },
      3600,
      1,
    ],
    ['a period', { period: 90 }, system, 90, 0],
    ['a period, whatever the ttl', { period: 90, ttl: 30 }, system, 90, 0],
    ['a period above the mount’s maximum', { period: 7200 }, { default: 60, max: 3600 }, 3600, 1],
    ['a period above the role’s maximum', { period: 7200, methodMax: 600 }, system, 600, 1],
    ['a period above the explicit maximum', { period: 7200, explicitMax: 300 }, system, 300, 1],
  ])('%s', (_, wish, mount, ttl, warnings) => {
    const result = granted(wish, mount)
    expect(result.ttl).toBe(ttl)
    expect(result.warnings).toHaveLength(warnings)
  })

  test('a warning names the requested and the granted TTL', () => {
    expect(granted({ ttl: 7200, methodMax: 600 }).warnings).toEqual([
      'the lifetime (7200 s) exceeds the maximum; it was reduced to 600 s',
    ])
    expect(granted({ period: 7200, methodMax: 600 }).warnings).toEqual([
      'the period (7200 s) exceeds the maximum; it was reduced to 600 s',
    ])
  })
})

describe('the TTL of a renewal', () => {
  const hour = { default: 60, max: 3600 }

  test.each<[name: string, wish: Partial<TokenLifetimeRequest>, age: number, ttl: number, warnings: number]>([
    ['the increment is the result', { increment: 30, ttl: 600 }, 100, 30, 0],
    ['also when it is the greater one', { increment: 900, ttl: 600 }, 100, 900, 0],
    ['without increment the role’s ttl', { ttl: 600 }, 100, 600, 0],
    ['without both the mount’s default', {}, 100, 60, 0],
    ['never beyond the maximum', { increment: 900 }, 3000, 600, 1],
    ['the last second', { increment: 900 }, 3599, 1, 1],
    ['exactly what is left', { increment: 600 }, 3000, 600, 0],
    ['a role’s maximum that was lowered since', { increment: 900, methodMax: 120 }, 100, 20, 1],
    ['the explicit maximum counts from the issue', { increment: 900, explicitMax: 300 }, 100, 200, 1],
    ['a period ignores the increment', { increment: 30, period: 90 }, 100, 90, 0],
    ['a period has no end', { period: 90 }, 100_000, 90, 0],
    ['a role’s maximum does not end it', { period: 90, methodMax: 120 }, 100_000, 90, 0],
    ['but shortens it', { period: 90, methodMax: 50 }, 100_000, 50, 1],
    [
      'a lesser maximum of the role does not end it',
      { period: 90, methodMax: 50, explicitMax: 300 },
      100,
      50,
      1,
    ],
    ['an explicit maximum ends it', { period: 90, explicitMax: 300 }, 250, 50, 1],
  ])('%s', (_, wish, age, ttl, warnings) => {
    const result = granted(wish, hour, age)
    expect(result.ttl).toBe(ttl)
    expect(result.warnings).toHaveLength(warnings)
  })

  test.each<[name: string, wish: Partial<TokenLifetimeRequest>, age: number]>([
    ['at the mount’s maximum', { increment: 1 }, 3600],
    ['beyond it', { increment: 1 }, 5000],
    ['at a role’s maximum that was lowered', { ttl: 10, methodMax: 120 }, 120],
    ['at the explicit maximum', { ttl: 10, explicitMax: 300 }, 300],
    ['at the explicit maximum of a periodic token', { period: 90, explicitMax: 300 }, 300],
  ])('a renewal is rejected %s', (_, wish, age) => {
    expect(computeTokenLifetime({ ...none, ...wish }, hour, NOW - age * 1000, NOW)).toMatchObject({
      fault: { code: 'invalid_request', why: 'maximum-lifetime' },
    })
  })
})

test('any renewal gives at least a second and never exceeds a maximum (CVE-2021-32923)', () => {
  const seconds = fc.integer({ min: 0, max: 10_000 })
  const wish = fc.record({
    increment: seconds,
    ttl: seconds,
    period: seconds,
    methodMax: seconds,
    explicitMax: seconds,
  })
  const mount = fc.record({
    default: fc.integer({ min: 1, max: 10_000 }),
    max: fc.integer({ min: 1, max: 10_000 }),
  })
  fc.assert(
    fc.property(wish, mount, fc.integer({ min: 0, max: 10_000_000 }), (wanted, limits, ageMs) => {
      const granted = computeTokenLifetime(wanted, limits, NOW - ageMs, NOW)
      if (!granted.ok) return
      const result = granted.value
      expect(result.ttl).toBeGreaterThanOrEqual(1)
      expect(result.ttl).toBeLessThanOrEqual(limits.max)
      if (wanted.methodMax > 0) expect(result.ttl).toBeLessThanOrEqual(wanted.methodMax)
      const livesMs = ageMs + result.ttl * 1000
      if (wanted.explicitMax > 0) expect(livesMs).toBeLessThanOrEqual(wanted.explicitMax * 1000)
      if (wanted.period === 0) expect(livesMs).toBeLessThanOrEqual(limits.max * 1000)
    }),
  )
})
