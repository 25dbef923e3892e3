import { ApiError, denialError } from '../api/errors.ts'
import { isActiveRecord } from '../model/cluster.ts'
import { isMountedAccessor, type MountTable } from '../model/mount.ts'
import {
  accessorOfHash,
  BATCH_TOKEN_PREFIX,
  isTokenExpired,
  storedTokenHashOf,
  type Token,
  tokenEndTime,
} from '../model/token.ts'
import type { ClusterRead, FieldCipher, Ports, SealedToken } from '../ports.ts'
import { removeItemIfUnchanged, setItemCounter } from '../storage/changes.ts'
import { type Item, type Key, key } from '../storage/kinds.ts'
import { decryptBatchTokenText, readBatchToken } from '../tokens/batch.ts'
import { anyNetworkContains } from '../values/cidr.ts'
import { defined } from '../values/defined.ts'
import { CONFLICT_RESULT, ok, type Result } from '../values/result.ts'
import { retryOnConflict } from '../values/retrying.ts'
import { type Secret, secretsEqual } from '../values/secret.ts'

/** A token as sent by the client. */
export interface PresentedToken {
  /** `key` under which a service token would be stored; absent for a batch token */
  key?: Key<'token'>
  /** the term that encrypted a batch token; absent for other texts */
  term?: Key<'term'>
  /** Computes the values that are compared with the stored token. */
  open: () => Promise<DecryptedBatchToken>
}

export interface DecryptedBatchToken {
  text: Secret
  /** hash that is stored for a service token */
  hash?: string
  batch?: SealedToken
}

/** Parses the token of a request, without looking it up in a table. */
export async function readPresentedToken(
  text: Secret | undefined,
  cipher: FieldCipher,
): Promise<PresentedToken | undefined> {
  if (!text) return undefined
  const plain = text.reveal()
  if (!plain.startsWith(BATCH_TOKEN_PREFIX)) {
    const hash = await storedTokenHashOf(plain, cipher)
    return { key: key('token', accessorOfHash(hash)), open: () => Promise.resolve({ text, hash }) }
  }
  const early = await decryptBatchTokenText(plain, cipher)
  return defined({
    term: early && key('term', early.term),
    // a later cluster record may have brought the term that decrypts the token
    open: async () => defined({ text, batch: early ?? (await decryptBatchTokenText(plain, cipher)) }),
  })
}

/**
 * Returns the item of the term that encrypted a batch token. The function reads this item unless the first read
 * included it.
 */
export async function readSealingTerm(
  { batch }: Pick<DecryptedBatchToken, 'batch'>,
  read: Item<'term'> | undefined,
  { store }: Pick<Ports, 'store'>,
): Promise<Item<'term'> | undefined> {
  if (!batch || read?.sk === batch.term) return read
  const [item] = await store.read([key('term', batch.term)])
  return item
}

/** A valid token whose mount exists. */
export interface ValidToken {
  text: Secret
  /** `token` as authenticated; its uses still include this request */
  token: Readonly<Token>
  /** `item`: the stored token; after a counted use only its revision is outdated */
  item?: Item<'token'>
  /** `spent`: true if this request took the last use and deleted the token */
  spent?: true
}

/**
 * Checks a token and the client address.
 * @param facts `term`: the item of the term that encrypted a batch token
 * @throws ApiError `invalid_token` for an unknown or invalid token, `permission_denied` for any other reason
 * @see docs/spec/tokens.md#use
 */
export function authenticateToken(
  presented: DecryptedBatchToken | undefined,
  item: Item<'token'> | undefined,
  facts: { mounts: MountTable; source: string; now: number; term: Item<'term'> | undefined },
): ValidToken {
  if (!presented) throw denialError('token-missing')
  const batch = presented.batch && readBatchToken(presented.batch, facts.term)
  if (batch?.fault) throw denialError(batch.fault)
  const token = batch?.token ?? item?.data
  if (!token) throw denialError('token-unknown')
  if (item && !secretsEqual(item.data.hash, presented.hash ?? '')) throw denialError('token-unknown')
  if (isTokenExpired(token, facts.now)) throw denialError('token-expired')
  if (token.mount !== undefined && !isMountedAccessor(facts.mounts, token.mount))
    throw denialError('mount-gone')
  const bound = token.boundCidrs.length > 0 && tokenEndTime(token) !== undefined
  if (bound && !anyNetworkContains(token.boundCidrs, facts.source)) throw denialError('source-address')
  return defined({ text: presented.text, token, item })
}

const USE_COUNT_TRIES = 11

/**
 * Counts one of a token's limited uses, before the token's rights are checked. The last use deletes the token, and its request
 * continues. A DR secondary writes no tokens, so it rejects tokens with limited uses.
 * @throws ApiError `invalid_token` if no use is left
 * @see docs/spec/tokens.md#limited-uses
 */
export async function countTokenUse(
  alive: ValidToken,
  cluster: ClusterRead,
  { store, clock, entropy }: Ports,
): Promise<ValidToken> {
  const { item: _, ...spent } = alive
  let item = alive.item
  if (item && item.data.numUses > 0 && !isActiveRecord(cluster.record))
    throw denialError('uses-not-counted-here')
  const pause = async () => {
    await clock.sleep((entropy.bytes(1)[0] ?? 0) % 20)
    if (item) [item] = await store.read([item])
    if (!item) throw denialError('token-spent')
  }
  const taken = await retryOnConflict(
    { tries: USE_COUNT_TRIES, pause },
    async (): Promise<Result<ValidToken, 'conflict'>> => {
      if (!item || item.data.numUses <= 0) return ok(alive)
      const numUses = item.data.numUses - 1
      const change = numUses === 0 ? removeItemIfUnchanged(item) : setItemCounter(item, numUses)
      if ((await store.commit([change], cluster)) !== 'done') return CONFLICT_RESULT
      return ok(
        numUses === 0
          ? { ...spent, spent: true }
          : { ...alive, item: { ...item, data: { ...item.data, numUses } } },
      )
    },
  )
  if (!taken.ok)
    throw new ApiError('busy', 'too many concurrent requests with this token; try again', { retryAfter: 1 })
  return taken.value
}
