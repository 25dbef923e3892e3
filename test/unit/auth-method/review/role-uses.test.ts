import { expect, test } from 'vitest'
import { defaultIdentityConfig } from '../../../../shared/auth-method/login/metadata.ts'
import { readRoleUses } from '../../../../shared/auth-method/review/role-uses.ts'
import { portsWith } from '../../../builders/ports.ts'
import { iamRole } from '../../../builders/roles.ts'
import { mount } from '../../tokens/support.ts'

const DAY = 86_400_000
const NOW = 200 * DAY + 5000

async function usesOf(
  since: number | undefined,
  days: Readonly<Record<string, number>> = {},
  until = NOW + 1,
) {
  const data = { ...defaultIdentityConfig, ...(since === undefined ? {} : { usesTrackedSince: since }) }
  const items = Object.entries(days).map(([sk, day]) => ({ sk, data: { day } }))
  const store = { read: async () => [{ data }], list: async () => items }
  const ports = portsWith({ store, clock: { now: () => NOW } })
  return readRoleUses({ ports, mount: mount(), now: NOW } as never, until)
}

test.each([
  ['no tracking', undefined, 'config/review does not track uses'],
  ['tracking since 89 days', NOW - 90 * DAY + 1, 'uses are tracked for 89 of 90 days'],
  ['tracking since 90 days', NOW - 90 * DAY, undefined],
])('%s has a gap', async (_, since, gap) => {
  const uses = await usesOf(since)
  expect(uses.gap).toBe(gap)
  expect(uses.unusedMs('web', iamRole()) === undefined).toBe(gap !== undefined)
})

test('uses that were not read leave a gap, and no role counts as unused', async () => {
  const uses = await usesOf(0, {}, NOW)
  expect(uses.gap).toBe('the time was up after 0 items')
  expect(uses.unusedMs('web', iamRole())).toBeUndefined()
})

test('a role is unused since its last use, its creation or the beginning of tracking, whichever is latest', async () => {
  const { unusedMs } = await usesOf(50 * DAY, { used: 100, long: 20 })
  expect(unusedMs('used', iamRole())).toBe(NOW - 100 * DAY)
  expect(unusedMs('long', iamRole())).toBe(NOW - 50 * DAY)
  expect(unusedMs('never', iamRole())).toBe(NOW - 50 * DAY)
  expect(unusedMs('long', iamRole({ createdAt: 150 * DAY }))).toBe(NOW - 150 * DAY)
})
