import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { NONCE_LENGTH } from '../../../shared/storage/encryption.ts'
import {
  closeEnvelope,
  firstKeys,
  newestTerm,
  openEnvelope,
  withNextTerm,
} from '../../../shared/storage/keyring.ts'

const dataKey = Buffer.alloc(32, 7)
const nonce = () => randomBytes(NONCE_LENGTH)

describe('terms', () => {
  test('each new one is another key under the next number; older ones, and the fixed key, stay as they are', () => {
    const first = firstKeys(randomBytes)
    const second = withNextTerm(first, randomBytes)
    const third = withNextTerm(second, randomBytes)
    expect([first, second, third].map(newestTerm)).toEqual([1, 2, 3])
    expect(third.terms.slice(0, 2)).toEqual(second.terms)
    expect(second.terms.slice(0, 1)).toEqual(first.terms)
    expect(third.fixed).toBe(first.fixed)
    const keys = [third.fixed, ...third.terms.map(term => term.key)]
    expect(new Set(keys).size).toBe(4)
    expect(keys.map(key => Buffer.from(key, 'base64').length)).toEqual([32, 32, 32, 32])
  })
})

describe('the envelope of a keyring', () => {
  const keys = withNextTerm(firstKeys(randomBytes), randomBytes)
  const closed = closeEnvelope(dataKey, 'ring-1', keys, nonce())

  test('opens with its data key, and shows nothing without', () => {
    expect(openEnvelope(dataKey, 'ring-1', closed)).toEqual(keys)
    for (const key of [keys.fixed, ...keys.terms.map(term => term.key)])
      expect(Buffer.from(closed, 'base64url').toString('latin1')).not.toContain(key)
  })

  test.each([
    ['another data key', () => openEnvelope(Buffer.alloc(32, 8), 'ring-1', closed)],
    ['another keyring', () => openEnvelope(dataKey, 'ring-2', closed)],
    [
      'one character changed',
      () => openEnvelope(dataKey, 'ring-1', `${closed.startsWith('A') ? 'B' : 'A'}${closed.slice(1)}`),
    ],
    ['nothing', () => openEnvelope(dataKey, 'ring-1', '')],
  ])('does not open: %s', (_, open) => expect(open).toThrow('the keyring does not open'))
})
