import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { NONCE_LENGTH } from '../../../shared/storage/encryption.ts'
import {
  activeTerm,
  activeTermNumber,
  addNextTerm,
  addSigner,
  checkKeys,
  closeEnvelope,
  createKeys,
  heldTermIds,
  highestTermNumber,
  idOf,
  type Keys,
  openEnvelope,
  removeSigner,
  uniteKeys,
} from '../../../shared/storage/keyring.ts'

const dataKey = Buffer.alloc(32, 7)
const nonce = () => randomBytes(NONCE_LENGTH)

describe('terms', () => {
  test('a new term has another key and the next number; older terms and the fixed key stay', () => {
    const first = createKeys(randomBytes)
    const second = addNextTerm(first, randomBytes)
    const third = addNextTerm(second, randomBytes)
    expect([first, second, third].map(activeTermNumber)).toEqual([1, 2, 3])
    expect(third.terms.slice(0, 2)).toEqual(second.terms)
    expect(second.terms.slice(0, 1)).toEqual(first.terms)
    expect(third.fixed).toBe(first.fixed)
    const keys = [third.fixed, ...third.terms.map(term => term.key)]
    expect(new Set(keys).size).toBe(4)
    expect(keys.map(key => Buffer.from(key, 'base64').length)).toEqual([32, 32, 32, 32])
  })
})

describe('two keyrings of one set', () => {
  const first = createKeys(randomBytes)
  const here = addNextTerm(first, randomBytes)
  const there = addNextTerm(first, randomBytes)

  test('that diverged have terms with the same number, and the same identities', () => {
    expect([activeTermNumber(here), activeTermNumber(there)]).toEqual([2, 2])
    expect(idOf(activeTerm(here))).not.toBe(idOf(activeTerm(there)))
    expect(heldTermIds(here)[0]).toBe(heldTermIds(there)[0])
    expect(heldTermIds(first)).not.toContain(first.terms[0]?.key)
  })

  test('are united without loss: each term once, and the leading one encrypts', () => {
    const both = uniteKeys(there, here)
    expect(activeTerm(both)).toEqual(activeTerm(there))
    expect(heldTermIds(both).toSorted()).toEqual(
      [...new Set([...heldTermIds(here), ...heldTermIds(there)])].toSorted(),
    )
    expect(uniteKeys(both, here)).toEqual(both)
  })

  test('keep a term with a higher number than the active one, and offer it', () => {
    const longer = uniteKeys(first, there)
    expect([activeTermNumber(longer), highestTermNumber(longer)]).toEqual([1, 2])
  })

  test('get a next term above all numbers', () => {
    const longer = addNextTerm(addNextTerm(here, randomBytes), randomBytes)
    expect(activeTermNumber(addNextTerm(uniteKeys(there, longer), randomBytes))).toBe(5)
  })

  test('do not restore destroyed terms, except the active one', () => {
    const [old = ''] = heldTermIds(first)
    const without: Keys = { ...here, terms: here.terms.slice(1), destroyedTerms: [old] }
    for (const [leading, other] of [
      [without, there],
      [there, without],
    ] as const) {
      const both = uniteKeys(leading, other)
      expect(heldTermIds(both)).not.toContain(old)
      expect(both.destroyedTerms).toEqual([old])
    }
    const active = idOf(activeTerm(there))
    expect(heldTermIds(uniteKeys(there, { ...here, destroyedTerms: [active] }))).toContain(active)
  })

  test('mark lost terms as read-only, until a primary has them', () => {
    const marks = (keys: Keys) => keys.terms.map(one => [idOf(one), one.readOnly ?? false])
    const both = uniteKeys(there, here, true)
    const lost = idOf(activeTerm(here))
    expect(marks(both).filter(([, is]) => is)).toEqual([[lost, true]])
    expect(marks(uniteKeys(there, here)).filter(([, is]) => is)).toEqual([])
    // a cluster that follows another primary takes the term as that primary has it
    expect(marks(uniteKeys(here, both)).filter(([, is]) => is)).toEqual([])
  })

  test('keep their own signers while the active term stays, and never export them', () => {
    expect(here.signer?.term).toBe(idOf(activeTerm(here)))
    expect(uniteKeys(there, here).signer).toEqual(there.signer)
    const followed = uniteKeys(removeSigner(here), here)
    expect(followed.signer, 'who has been primary goes on following').toEqual(here.signer)
    expect(uniteKeys(removeSigner(addNextTerm(here, randomBytes)), here).signer).toBeUndefined()
    expect(addSigner(here, randomBytes)).toBe(here)
    const taken = addSigner(removeSigner(here), randomBytes)
    expect(taken.signer).toMatchObject({ term: idOf(activeTerm(here)) })
    expect(taken.signer?.seed).not.toBe(here.signer?.seed)
  })

  test('without an active term, or with an unknown one, are refused', () => {
    const { activeTerm: _, ...before } = here
    expect(() => checkKeys(before as Keys)).toThrow('does not name the term that encrypts')
    expect(() => activeTerm(before as Keys)).toThrow('lacks the term that encrypts')
    expect(() => activeTerm({ ...here, activeTerm: 'unknown' })).toThrow('lacks the term that encrypts')
  })
})

describe('the envelope of a keyring', () => {
  const keys = addNextTerm(createKeys(randomBytes), randomBytes)
  const closed = closeEnvelope(dataKey, 'ring-1', keys, nonce())

  test('decrypts with its data key, and reveals nothing without it', () => {
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
  ])('does not decrypt with %s', (_, open) => expect(open).toThrow('the keyring does not open'))
})
