import type { Call } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import type { Attempt, Rekey, Secrets, Slot } from '../model/ceremony.ts'
import type { ClusterRecord } from '../model/cluster.ts'
import { toSeconds } from '../model/token.ts'
import type { FieldCipher } from '../ports.ts'
import { type Change, replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { bounds } from '../values/bounds.ts'
import { triesOf } from './decide.ts'
import { decryptSecrets, encryptAttempt } from './slot.ts'

/** What a request of a rekeying looks at, read with its first read. */
export const prepareRekey = async () => ({
  keys: [key('rekey'), key('recovery-key')] as const,
  prepared: undefined,
})

/** An attempt to make another recovery key. */
export type Rekeying = Attempt & { rekey: Rekey }

/** The slot as it was read. */
export interface GatheredRekey {
  item: Item<'rekey'> | undefined
  slot: Slot & { attempt?: Rekeying }
  recovery: Item<'recovery-key'>
  /** the recovery key, and the role of the cluster, as the attempt in the slot has to know them */
  verifier: string
  clusterRole: string
}

/**
 * The role of a cluster, as attempts know it again. A change voids them, even one back: what happened to the set in
 * between is not known here.
 */
export const clusterRoleOf = ({
  mode,
  set = '',
  epoch = '',
}: Pick<ClusterRecord, 'mode' | 'set' | 'epoch'>): string => [mode, set, epoch].join(' ')

export function gatherRekey(call: Pick<Call, 'fetched' | 'cluster'>): GatheredRekey {
  const [item, recovery] = [call.fetched.get(key('rekey')), call.fetched.get(key('recovery-key'))]
  if (!recovery) throw new ApiError('not_initialised')
  const { verifier } = recovery.data
  const clusterRole = clusterRoleOf(call.cluster.record)
  const { attempt, ...stored } = item?.data ?? { strangerStarts: [] }
  const goesOn =
    attempt &&
    isRekeying(attempt) &&
    attempt.recoveryKey === verifier &&
    attempt.rekey.clusterRole === clusterRole
  return {
    item,
    slot: { ...triesOf(stored), ...(goesOn ? { attempt } : {}) },
    recovery,
    verifier,
    clusterRole,
  }
}

const isRekeying = (attempt: Attempt): attempt is Rekeying => attempt.rekey !== undefined

/** Stores the slot as it was judged; from now on it may be idle for an hour. @param now epoch milliseconds */
export const storeRekey = ({ item }: Pick<GatheredRekey, 'item'>, slot: Slot, now: number): Change =>
  replace(key('rekey'), item, slot, { expires: toSeconds(now) + bounds.ATTEMPT_IDLE_SECONDS })

/** An attempt with its secrets, ready to be stored. */
export const encryptRekey = (
  attempt: Pick<Rekeying, 'purpose' | 'rekey' | 'authorised' | 'recoveryKey'>,
  secrets: Pick<Secrets, 'nonce' | 'shares'>,
  cipher: Pick<FieldCipher, 'encrypt'>,
): Promise<Attempt> => encryptAttempt(attempt, { ...secrets, otp: '' }, cipher, key('rekey'))

/** The secrets of the attempt in the slot; undefined when there is none. */
export const decryptRekey = (
  slot: Slot,
  cipher: Pick<FieldCipher, 'decrypt'>,
): Promise<Secrets | undefined> => decryptSecrets(slot, cipher, key('rekey'))
