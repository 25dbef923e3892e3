import type { Call } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import type { AttemptSecrets, CeremonyAttempt, CeremonySlot, RekeyParameters } from '../model/ceremony.ts'
import type { ClusterRecord } from '../model/cluster.ts'
import { toSeconds } from '../model/token.ts'
import type { FieldCipher } from '../ports.ts'
import { type Change, replaceItem } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { bounds } from '../values/bounds.ts'
import { attemptStartsOf } from './decide.ts'
import { decryptAttemptSecrets, encryptAttemptSecrets } from './slot.ts'

/** Returns the keys that a rekey request adds to the first read. */
export const prepareRekey = async () => ({ keys: [key('rekey'), key('recovery-key')] as const })

/** An attempt to create a new recovery key. */
export type RekeyAttempt = CeremonyAttempt & { rekey: RekeyParameters }

/** The stored slot of the rekey. */
export interface StoredRekey {
  item: Item<'rekey'> | undefined
  slot: CeremonySlot & { attempt?: RekeyAttempt }
  recovery: Item<'recovery-key'>
  /** verifier of the recovery key and role of the cluster, which a valid attempt must match */
  verifier: string
  clusterRole: string
}

/** Returns the cluster's role as a text. Any change voids an attempt, even a change back, because the set may have changed in between. */
export const clusterRoleText = ({
  mode,
  set = '',
  epoch = '',
}: Pick<ClusterRecord, 'mode' | 'set' | 'epoch'>): string => [mode, set, epoch].join(' ')

export function readRekeySlot(call: Pick<Call, 'fetched' | 'cluster'>): StoredRekey {
  const [item, recovery] = [call.fetched.get(key('rekey')), call.fetched.get(key('recovery-key'))]
  if (!recovery) throw new ApiError('not_initialised')
  const { verifier } = recovery.data
  const clusterRole = clusterRoleText(call.cluster.record)
  const { attempt, ...stored } = item?.data ?? { strangerStarts: [] }
  const goesOn =
    attempt &&
    isRekeying(attempt) &&
    attempt.recoveryKey === verifier &&
    attempt.rekey.clusterRole === clusterRole
  return {
    item,
    slot: { ...attemptStartsOf(stored), ...(goesOn ? { attempt } : {}) },
    recovery,
    verifier,
    clusterRole,
  }
}

const isRekeying = (attempt: CeremonyAttempt): attempt is RekeyAttempt => attempt.rekey !== undefined

/** Stores the slot. The slot of a rekeying expires after an hour without a share. @param now epoch milliseconds */
export const storeRekeySlot = (
  { item }: Pick<StoredRekey, 'item'>,
  slot: CeremonySlot,
  now: number,
): Change => replaceItem(key('rekey'), item, slot, { expires: toSeconds(now) + bounds.ATTEMPT_IDLE_SECONDS })

/** Encrypts the secrets of an attempt for storage. */
export const encryptRekeySecrets = (
  attempt: Pick<RekeyAttempt, 'purpose' | 'rekey' | 'authorised' | 'recoveryKey'>,
  secrets: Pick<AttemptSecrets, 'nonce' | 'shares'>,
  cipher: Pick<FieldCipher, 'encrypt'>,
): Promise<CeremonyAttempt> => encryptAttemptSecrets(attempt, { ...secrets, otp: '' }, cipher, key('rekey'))

/** Decrypts the secrets of the slot's attempt; undefined if the slot has no attempt. */
export const decryptRekeySecrets = (
  slot: CeremonySlot,
  cipher: Pick<FieldCipher, 'decrypt'>,
): Promise<AttemptSecrets | undefined> => decryptAttemptSecrets(slot, cipher, key('rekey'))
