import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  checkRecoveryShares,
  hashRecoveryShare,
  isShareOf,
  newRecoveryKey,
  recoveryKeyVerifier,
} from '../../../shared/cluster/recovery.ts'
import { combineShares } from '../../../shared/cluster/shares.ts'
import { NOW } from '../tokens/support.ts'

const key = Buffer.alloc(32, 7)
const made = (division = { shares: 5, threshold: 3 }) =>
  newRecoveryKey(division, { random: randomBytes, now: NOW })

describe('the stored recovery key', () => {
  test('hashes are stable, and differ between a key and a share of the same bytes', () => {
    expect(recoveryKeyVerifier(key)).toBe('G2QImhztMv1mCuPHfESvPMrWJ9yO8uZq-oyUsnwjYwM')
    expect(hashRecoveryShare(key)).toBe('0aGequ8sfFL3SHYDQeudydo2jMfOuRB56dbM_73F-k4')
  })

  test('the record recognises the key and its shares, and rejects other texts', () => {
    const { item, shares } = made()
    const hex = shares.map(one => one.toString('hex'))
    const whole = combineShares(hex.slice(1, 4)) as Buffer
    checkRecoveryShares(hex.slice(1, 4), item)
    for (const [some, stored] of [
      [hex.slice(0, 2), item],
      [[...hex.slice(0, 2), hex[0] ?? ''], item],
      [hex.slice(0, 3), made().item],
    ] as const)
      expect(() => checkRecoveryShares(some, stored)).toThrow('the stored recovery key is inconsistent')
    expect(shares.map(one => isShareOf(item, one))).toEqual([true, true, true, true, true])
    for (const other of [...made().shares, whole, Buffer.of(), shares[0]?.subarray(1) as Buffer])
      expect(isShareOf(item, other)).toBe(false)
  })

  test('the record contains neither the key nor a share, in any encoding', () => {
    const { item, shares } = made()
    const whole = combineShares(shares.slice(0, 3).map(one => one.toString('hex'))) as Buffer
    const text = JSON.stringify(item)
    for (const secret of [whole, ...shares])
      for (const notation of ['hex', 'base64', 'base64url'] as const)
        expect(text).not.toContain(secret.toString(notation).replace(/=+$/, ''))
    expect(item).toEqual({
      shares: 5,
      threshold: 3,
      since: NOW,
      verifier: recoveryKeyVerifier(whole),
      shareHashes: shares.map(hashRecoveryShare),
    })
  })

  test('with one share, key and share have different hashes although they are equal', () => {
    const { item, shares } = made({ shares: 1, threshold: 1 })
    checkRecoveryShares([shares[0]?.toString('hex') ?? ''], item)
    expect(isShareOf(item, shares[0] as Buffer)).toBe(true)
    expect(item.verifier).not.toBe(item.shareHashes[0])
  })

  test('the record contains the holders’ OpenPGP fingerprints if shares were encrypted', () => {
    const settings = { random: randomBytes, now: NOW, pgpFingerprints: ['ab', 'cd'] }
    const { item } = newRecoveryKey({ shares: 2, threshold: 2 }, settings)
    expect(item.pgpFingerprints).toEqual(['ab', 'cd'])
  })
})
