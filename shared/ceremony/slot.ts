import type { Call } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import type { AttemptSecrets, CeremonyAttempt, CeremonyPurpose, CeremonySlot } from '../model/ceremony.ts'
import { isActiveRecord } from '../model/cluster.ts'
import { toSeconds } from '../model/token.ts'
import type { FieldCipher } from '../ports.ts'
import { type Change, replaceItem } from '../storage/changes.ts'
import { type Item, type Key, key } from '../storage/kinds.ts'
import { bounds } from '../values/bounds.ts'
import { attemptStartsOf } from './decide.ts'

/**
 * Reports whether the caller is authorised: by a token with the capability, or by invoking the function directly. Other callers of an
 * open ceremony are anonymous, even if they send a token.
 */
export const isCeremonyAuthorised = ({ request, caller }: Pick<Call, 'request' | 'caller'>): boolean =>
  request.gatewayId === '' || caller !== undefined

/** Returns the keys that a ceremony request adds to the first read. */
export const prepareCeremonySlot = async () => ({ keys: [key('ceremony'), key('recovery-key')] as const })

/** The stored slot. */
export interface StoredCeremony {
  item: Item<'ceremony'> | undefined
  slot: CeremonySlot
  recovery: Item<'recovery-key'>
  required: number
}

const EMPTY: CeremonySlot = { strangerStarts: [] }

export function readCeremonySlot({ fetched, cluster }: Pick<Call, 'fetched' | 'cluster'>): StoredCeremony {
  const [item, recovery] = [fetched.get(key('ceremony')), fetched.get(key('recovery-key'))]
  if (!recovery) throw new ApiError('not_initialised')
  const { attempt, ...stored } = item?.data ?? EMPTY
  // an attempt started under another role or recovery key is void and does not block a new attempt
  const purpose: CeremonyPurpose = cluster && !isActiveRecord(cluster.record) ? 'operation' : 'root'
  const tries = attemptStartsOf(stored)
  const goesOn = attempt?.purpose === purpose && attempt.recoveryKey === recovery.data.verifier
  const slot = goesOn ? { ...tries, attempt } : tries
  return { item, slot, recovery, required: recovery.data.threshold }
}

/** Stores the slot. The slot expires after an hour without a share. @param now epoch milliseconds */
export const storeCeremonySlot = (
  { item }: Pick<StoredCeremony, 'item'>,
  slot: CeremonySlot,
  now: number,
): Change =>
  replaceItem(key('ceremony'), item, slot, { expires: toSeconds(now) + bounds.ATTEMPT_IDLE_SECONDS })

const FIELD = 'secrets'

/** Encrypts the secrets of an attempt for storage. @param place key of the slot */
export const encryptAttemptSecrets = async (
  attempt: Pick<CeremonyAttempt, 'purpose' | 'pgp' | 'authorised' | 'recoveryKey' | 'rekey'>,
  secrets: AttemptSecrets,
  cipher: Pick<FieldCipher, 'encrypt'>,
  place: Key = key('ceremony'),
): Promise<CeremonyAttempt> => ({
  ...attempt,
  nonce: secrets.nonce,
  progress: secrets.shares.length,
  secrets: await cipher.encrypt(place, FIELD, JSON.stringify(secrets)),
})

/** Decrypts the secrets of the slot's attempt; undefined if the slot has no attempt. @param place key of the slot */
export async function decryptAttemptSecrets(
  { attempt }: CeremonySlot,
  cipher: Pick<FieldCipher, 'decrypt'>,
  place: Key = key('ceremony'),
): Promise<AttemptSecrets | undefined> {
  if (!attempt) return undefined
  const text = await cipher.decrypt(place, FIELD, attempt.secrets).catch((error: unknown) => {
    if (error instanceof ApiError) throw error
    return undefined
  })
  // the attempt belongs to an earlier keyring of this cluster, so nobody can finish it
  if (!text) return undefined
  const secrets = JSON.parse(text.reveal()) as AttemptSecrets
  if (secrets.nonce !== attempt.nonce)
    throw new Error('the stored secrets belong to another attempt: the nonces differ')
  return secrets
}
