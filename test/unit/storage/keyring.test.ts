import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { GCM_NONCE_LENGTH } from '../../../shared/storage/encryption.ts'
import {
  activeKeyringTerm,
  activeTermNumber,
  addBatchTokenSigner,
  addNextKeyringTerm,
  checkKeyringKeys,
  createKeyringKeys,
  heldTermIds,
  highestTermNumber,
  type KeyringKeys,
  openKeyringEnvelope,
  removeBatchTokenSigner,
  sealKeyringEnvelope,
  termIdOfDataKey,
  uniteKeyrings,
} from '../../../shared/storage/keyring.ts'

const dataKey = Buffer.alloc(32, 7)
const nonce = () => randomBytes(GCM_NONCE_LENGTH)

describe('terms of a keyring', () => {
  test('a new term has another key and the next number; older terms and the fixed key stay', () => {
    const first = createKeyringKeys(randomBytes)
    const second = addNextKeyringTerm(first, randomBytes)
    const third = addNextKeyringTerm(second, randomBytes)
    expect([first, second, third].map(activeTermNumber)).toEqual([1, 2, 3])
    expect(third.terms.slice(0, 2)).toEqual(second.terms)
    expect(second.terms.slice(0, 1)).toEqual(first.terms)
    expect(third.fixed).toBe(first.fixed)
    const keys = [third.fixed, ...third.terms.map(term => term.key)]
    expect(new Set(keys).size).toBe(4)
    expect(keys.map(key => Buffer.from(key, 'base64').length)).toEqual([32, 32, 32, 32])
  })
})

describe('uniting two keyrings of one set', () => {
  const first = createKeyringKeys(randomBytes)
  const here = addNextKeyringTerm(first, randomBytes)
  const there = addNextKeyringTerm(first, randomBytes)

  test('diverged keyrings have terms with the same number, and the same identities', () => {
    expect([activeTermNumber(here), activeTermNumber(there)]).toEqual([2, 2])
    expect(termIdOfDataKey(activeKeyringTerm(here))).not.toBe(termIdOfDataKey(activeKeyringTerm(there)))
    expect(heldTermIds(here)[0]).toBe(heldTermIds(there)[0])
    expect(heldTermIds(first)).not.toContain(first.terms[0]?.key)
  })

  test("keyrings are united without loss: each term once, and the leading keyring's term encrypts", () => {
    const both = uniteKeyrings(there, here)
    expect(activeKeyringTerm(both)).toEqual(activeKeyringTerm(there))
    expect(heldTermIds(both).toSorted()).toEqual(
      [...new Set([...heldTermIds(here), ...heldTermIds(there)])].toSorted(),
    )
    expect(uniteKeyrings(both, here)).toEqual(both)
  })

  test('united keyrings keep a term with a higher number than the active term, and offer that term', () => {
    const longer = uniteKeyrings(first, there)
    expect([activeTermNumber(longer), highestTermNumber(longer)]).toEqual([1, 2])
  })

  test('united keyrings get a next term above all numbers', () => {
    const longer = addNextKeyringTerm(addNextKeyringTerm(here, randomBytes), randomBytes)
    expect(activeTermNumber(addNextKeyringTerm(uniteKeyrings(there, longer), randomBytes))).toBe(5)
  })

  test('united keyrings do not restore destroyed terms, except the active term', () => {
    const [old = ''] = heldTermIds(first)
    const without: KeyringKeys = { ...here, terms: here.terms.slice(1), destroyedTerms: [old] }
    for (const [leading, other] of [
      [without, there],
      [there, without],
    ] as const) {
      const both = uniteKeyrings(leading, other)
      expect(heldTermIds(both)).not.toContain(old)
      expect(both.destroyedTerms).toEqual([old])
    }
    const active = termIdOfDataKey(activeKeyringTerm(there))
    expect(heldTermIds(uniteKeyrings(there, { ...here, destroyedTerms: [active] }))).toContain(active)
  })

  test('united keyrings mark lost terms as read-only, until a primary has the lost terms', () => {
    const marks = (keys: KeyringKeys) => keys.terms.map(one => [termIdOfDataKey(one), one.readOnly ?? false])
    const both = uniteKeyrings(there, here, true)
    const lost = termIdOfDataKey(activeKeyringTerm(here))
    expect(marks(both).filter(([, is]) => is)).toEqual([[lost, true]])
    expect(marks(uniteKeyrings(there, here)).filter(([, is]) => is)).toEqual([])
    // a cluster that follows another primary takes the term as that primary has it
    expect(marks(uniteKeyrings(here, both)).filter(([, is]) => is)).toEqual([])
  })

  test('keyrings keep their own signers while the active term stays, and never export the signers', () => {
    expect(here.signer?.term).toBe(termIdOfDataKey(activeKeyringTerm(here)))
    expect(uniteKeyrings(there, here).signer).toEqual(there.signer)
    const followed = uniteKeyrings(removeBatchTokenSigner(here), here)
    expect(followed.signer, 'who has been primary goes on following').toEqual(here.signer)
    expect(
      uniteKeyrings(removeBatchTokenSigner(addNextKeyringTerm(here, randomBytes)), here).signer,
    ).toBeUndefined()
    expect(addBatchTokenSigner(here, randomBytes)).toBe(here)
    const taken = addBatchTokenSigner(removeBatchTokenSigner(here), randomBytes)
    expect(taken.signer).toMatchObject({ term: termIdOfDataKey(activeKeyringTerm(here)) })
    expect(taken.signer?.seed).not.toBe(here.signer?.seed)
  })

  test('keyrings without an active term, or with an unknown active term, are refused', () => {
    const { activeTerm: _, ...before } = here
    expect(() => checkKeyringKeys(before as KeyringKeys)).toThrow('names no active key term')
    expect(() => activeKeyringTerm(before as KeyringKeys)).toThrow('lacks its active key term')
    expect(() => activeKeyringTerm({ ...here, activeTerm: 'unknown' })).toThrow('lacks its active key term')
  })
})

describe('the envelope of a keyring', () => {
  const keys = addNextKeyringTerm(createKeyringKeys(randomBytes), randomBytes)
  const closed = sealKeyringEnvelope(dataKey, 'ring-1', keys, nonce())

  test('the envelope decrypts with its data key, and reveals nothing without the key', () => {
    expect(openKeyringEnvelope(dataKey, 'ring-1', closed)).toEqual(keys)
    for (const key of [keys.fixed, ...keys.terms.map(term => term.key)])
      expect(Buffer.from(closed, 'base64url').toString('latin1')).not.toContain(key)
  })

  test.each([
    ['another data key', () => openKeyringEnvelope(Buffer.alloc(32, 8), 'ring-1', closed)],
    ['another keyring', () => openKeyringEnvelope(dataKey, 'ring-2', closed)],
    [
      'one character changed',
      () => openKeyringEnvelope(dataKey, 'ring-1', `${closed.startsWith('A') ? 'B' : 'A'}${closed.slice(1)}`),
    ],
    ['nothing', () => openKeyringEnvelope(dataKey, 'ring-1', '')],
  ])('the envelope does not decrypt with %s', (_, open) => expect(open).toThrow('the keyring does not open'))
})
