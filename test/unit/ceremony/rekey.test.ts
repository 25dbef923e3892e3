import { describe, expect, test } from 'vitest'
import * as refusals from '../../../shared/ceremony/rekey-refusals.ts'
import { clusterRoleText, readRekeySlot } from '../../../shared/ceremony/rekey-slot.ts'
import type { CeremonyAttempt, RekeyParameters } from '../../../shared/model/ceremony.ts'
import type { ClusterRecord, RecoveryKey } from '../../../shared/model/cluster.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'
import { clusterRecord } from '../../builders/cluster-record.ts'
import { item } from '../../support/tables/items.ts'

const recovery = (verifier: string, rev = 'r-1'): Item<'recovery-key'> =>
  item(
    key('recovery-key'),
    { shares: 5, threshold: 3, verifier, shareHashes: [], since: 0 } satisfies RecoveryKey,
    rev,
  )
const record = (more: Partial<ClusterRecord> = {}): ClusterRecord =>
  clusterRecord({ set: 's-1', epoch: '000001.aaaaaaaaaaaa', ...more })

const rekey: RekeyParameters = {
  shares: 3,
  threshold: 2,
  pgp: [],
  verify: true,
  id: 'n-1',
  clusterRole: clusterRoleText(record()),
}
const attempt: CeremonyAttempt = {
  purpose: 'rekey',
  nonce: 'n-1',
  progress: 1,
  secrets: '' as EncryptedText,
  recoveryKey: 'v-1',
  rekey,
}

/** Returns the slot that a request reads. */
const found = (
  present: Item<'recovery-key'> | undefined,
  own: ClusterRecord,
  stored: CeremonyAttempt = attempt,
) => {
  const slot = { ...key('rekey'), rev: 'r', data: { strangerStarts: [5], attempt: stored } }
  const items = new Map<string, Item | undefined>([
    ['rekey', slot],
    ['recovery-key', present],
  ])
  return readRekeySlot({
    cluster: { record: own },
    fetched: { get: ({ kind }: { kind: string }) => items.get(kind) },
  } as unknown as Parameters<typeof readRekeySlot>[0])
}

describe('a rekey attempt', () => {
  test('an attempt stays valid while recovery key and cluster role are unchanged', () => {
    expect(found(recovery('v-1'), record()).slot.attempt).toEqual(attempt)
    expect(found(recovery('v-1', 'r-2'), record({ term: 2, name: 'd' })).slot.attempt).toEqual(attempt)
  })

  test.each([
    ['another recovery key', recovery('v-2'), record()],
    ['another role', recovery('v-1'), record({ mode: 'disabled' })],
    ['the same role in another epoch', recovery('v-1'), record({ epoch: '000003.bbbbbbbbbbbb' })],
    ['another set', recovery('v-1'), record({ set: 's-2' })],
  ])('a rekey attempt is void under %s, and its recorded starts stay', (_, present, own) => {
    expect(found(present, own).slot).toEqual({ strangerStarts: [5] })
  })

  test('a slot without rekey data has no attempt', () => {
    const { rekey: _, ...other } = attempt
    expect(found(recovery('v-1'), record(), other).slot.attempt).toBeUndefined()
  })

  test('rekeying requires an initialised cluster', () => {
    expect(() => found(undefined, record())).toThrow(expect.objectContaining({ code: 'not_initialised' }))
  })
})

test('errors that only rekeying returns, verbatim', () => {
  const told = [
    refusals.verificationRequiredError('n-2'),
    refusals.noVerificationError(),
    refusals.pgpKeyCountError(),
    refusals.noUnsealKeysError(),
    refusals.backupUnsupportedError(),
  ]
  expect(told).toHaveLength(Object.keys(refusals).length)
  expect(told.map(({ code, message }) => `${code}: ${message}`)).toEqual([
    'invalid_request: rekey operation already finished; verification must be performed; nonce for the verification operation is "n-2"; submit shares of the new key by POST sys/rotate/recovery/verify',
    'invalid_request: no rekey verification in progress; a verification starts when enough shares of the current key were submitted by POST sys/rotate/recovery/update, and only if the rekey was started with require_verification',
    'invalid_request: incorrect number of PGP keys for rekey; pgp_keys must contain one key for each share (secret_shares), or be empty',
    'invalid_request: KMS holds the keys of this cluster, so there are neither unseal keys nor a root key protected by shares; to replace the recovery key use sys/rotate/recovery/init, or sys/rekey-recovery-key/init without a token; to rotate the keyring use sys/rotate',
    'invalid_request: backup is not supported: this service keeps no shares, encrypted or not; let the holders keep the shares from the response; set require_verification to keep the old shares valid until holders submit the new shares',
  ])
})
