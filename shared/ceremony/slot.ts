import type { Call } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import type { Attempt, Purpose, Secrets, Slot } from '../model/ceremony.ts'
import { isActive } from '../model/cluster.ts'
import { toSeconds } from '../model/token.ts'
import type { FieldCipher } from '../ports.ts'
import { type Change, replace } from '../storage/changes.ts'
import { type Item, type Key, key } from '../storage/kinds.ts'
import { bounds } from '../values/bounds.ts'
import { triesOf } from './decide.ts'

/**
 * Whether a caller may: by a token that was looked at, or by who may invoke the function. Whoever sends another token
 * where ceremonies are open is a stranger.
 */
export const isAuthorised = ({ request, caller }: Pick<Call, 'request' | 'caller'>): boolean =>
  request.gatewayId === '' || caller !== undefined

/** What a request of a ceremony looks at, read with its first read. */
export const prepareSlot = async () => ({
  keys: [key('ceremony'), key('recovery-key')] as const,
  prepared: undefined,
})

/** The slot as it was read. */
export interface Gathered {
  item: Item<'ceremony'> | undefined
  slot: Slot
  recovery: Item<'recovery-key'>
  required: number
}

const EMPTY: Slot = { strangerStarts: [] }

export function gatherSlot({ fetched, cluster }: Pick<Call, 'fetched' | 'cluster'>): Gathered {
  const [item, recovery] = [fetched.get(key('ceremony')), fetched.get(key('recovery-key'))]
  if (!recovery) throw new ApiError('not_initialised')
  const { attempt, ...stored } = item?.data ?? EMPTY
  // an attempt begun under another role or recovery key is void, and does not block a new one
  const purpose: Purpose = cluster && !isActive(cluster.record) ? 'operation' : 'root'
  const tries = triesOf(stored)
  const goesOn = attempt?.purpose === purpose && attempt.recoveryKey === recovery.data.verifier
  const slot = goesOn ? { ...tries, attempt } : tries
  return { item, slot, recovery, required: recovery.data.threshold }
}

/** Stores the slot as it was judged; from now on it may be idle for an hour. @param now epoch milliseconds */
export const storeSlot = ({ item }: Pick<Gathered, 'item'>, slot: Slot, now: number): Change =>
  replace(key('ceremony'), item, slot, { expires: toSeconds(now) + bounds.ATTEMPT_IDLE_SECONDS })

const FIELD = 'secrets'

/** An attempt with its secrets, ready to be stored. @param place the slot that it is stored in */
export const encryptAttempt = async (
  attempt: Pick<Attempt, 'purpose' | 'pgp' | 'authorised' | 'recoveryKey' | 'rekey'>,
  secrets: Secrets,
  cipher: Pick<FieldCipher, 'encrypt'>,
  place: Key = key('ceremony'),
): Promise<Attempt> => ({
  ...attempt,
  nonce: secrets.nonce,
  progress: secrets.shares.length,
  secrets: await cipher.encrypt(place, FIELD, JSON.stringify(secrets)),
})

/** The secrets of the attempt in the slot; undefined when there is none. @param place the slot that it is stored in */
export async function decryptSecrets(
  { attempt }: Slot,
  cipher: Pick<FieldCipher, 'decrypt'>,
  place: Key = key('ceremony'),
): Promise<Secrets | undefined> {
  if (!attempt) return undefined
  const text = await cipher.decrypt(place, FIELD, attempt.secrets).catch((error: unknown) => {
    if (error instanceof ApiError) throw error
    return undefined
  })
  // this cluster has another keyring since: nobody goes on with it
  if (!text) return undefined
  const secrets = JSON.parse(text.reveal()) as Secrets
  if (secrets.nonce !== attempt.nonce) throw new Error('the secrets in the slot belong to another attempt')
  return secrets
}
