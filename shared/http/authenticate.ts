import { ApiError, denial } from '../api/errors.ts'
import { isActive } from '../model/cluster.ts'
import { isMounted, type MountTable } from '../model/mount.ts'
import { accessorOf, BATCH_PREFIX, endOf, isExpired, storedHashOf, type Token } from '../model/token.ts'
import type { ClusterRead, FieldCipher, Ports, SealedToken } from '../ports.ts'
import { countDown, removeIfUnchanged } from '../storage/changes.ts'
import { type Item, type Key, key } from '../storage/kinds.ts'
import { openBatch, readBatch } from '../tokens/batch.ts'
import { anyContains } from '../values/cidr.ts'
import { defined } from '../values/defined.ts'
import { CONFLICT, ok, type Result } from '../values/result.ts'
import { retry } from '../values/retrying.ts'
import { type Secret, sameSecret } from '../values/secret.ts'

/** A token as presented. */
export interface PresentedToken {
  /** where a service token would be stored; absent for a batch token */
  key?: Key<'token'>
  /** the term that sealed a batch token; absent for a service token, and for what is no token */
  term?: Key<'term'>
  /** works out what is compared with the stored token */
  open: () => Promise<OpenedToken>
}

export interface OpenedToken {
  text: Secret
  /** what would be stored of a service token */
  hash?: string
  batch?: SealedToken
}

/** Reads the token of a request; it is not looked up yet. */
export async function readToken(
  text: Secret | undefined,
  cipher: FieldCipher,
): Promise<PresentedToken | undefined> {
  if (!text) return undefined
  const plain = text.reveal()
  if (!plain.startsWith(BATCH_PREFIX)) {
    const hash = await storedHashOf(plain, cipher)
    return { key: key('token', accessorOf(hash)), open: () => Promise.resolve({ text, hash }) }
  }
  const early = await openBatch(plain, cipher)
  return defined({
    term: early && key('term', early.term),
    // what did not open may be of a term that the cluster record has told of since
    open: async () => defined({ text, batch: early ?? (await openBatch(plain, cipher)) }),
  })
}

/** The item of the term that sealed a batch token: as it was read with the request, or else now. */
export async function readSealingTerm(
  { batch }: Pick<OpenedToken, 'batch'>,
  read: Item<'term'> | undefined,
  { store }: Pick<Ports, 'store'>,
): Promise<Item<'term'> | undefined> {
  if (!batch || read?.sk === batch.term) return read
  const [item] = await store.read([key('term', batch.term)])
  return item
}

/** A token that lives, and whose mount lives. */
export interface LiveToken {
  text: Secret
  /** as it was presented, with the use that this request takes */
  token: Readonly<Token>
  /** as it is stored now, but for its revision when a use was taken */
  item?: Item<'token'>
  /** this request has taken the last use, and with it the token away */
  spent?: true
}

/**
 * The token behind what was presented, if it lives and may be used from this address.
 * @param facts `term`: the item of the term that sealed a batch token
 * @throws ApiError `invalid_token` for what is no token, or no longer one, `permission_denied` for anything else
 * @see docs/spec/tokens.md#use
 */
export function authenticate(
  presented: OpenedToken | undefined,
  item: Item<'token'> | undefined,
  facts: { mounts: MountTable; source: string; now: number; term: Item<'term'> | undefined },
): LiveToken {
  if (!presented) throw denial('token-missing')
  const batch = presented.batch && readBatch(presented.batch, facts.term)
  if (batch?.fault) throw denial(batch.fault)
  const token = batch?.token ?? item?.data
  if (!token) throw denial('token-unknown')
  if (item && !sameSecret(item.data.hash, presented.hash ?? '')) throw denial('token-unknown')
  if (isExpired(token, facts.now)) throw denial('token-expired')
  if (token.mount !== undefined && !isMounted(facts.mounts, token.mount)) throw denial('mount-gone')
  const bound = token.boundCidrs.length > 0 && endOf(token) !== undefined
  if (bound && !anyContains(token.boundCidrs, facts.source)) throw denial('source-address')
  return defined({ text: presented.text, token, item })
}

const USE_COUNT_TRIES = 11

/**
 * Takes one of a token's limited uses, before it is even looked at what the token may do. The last use takes
 * the token away; the request that took it goes on. A DR secondary writes no tokens, so none with limited uses is
 * good there.
 * @throws ApiError `invalid_token` when the uses are spent
 * @see docs/spec/tokens.md#limited-uses
 */
export async function takeUse(
  alive: LiveToken,
  cluster: ClusterRead,
  { store, clock, entropy }: Ports,
): Promise<LiveToken> {
  const { item: _, ...spent } = alive
  let item = alive.item
  if (item && item.data.numUses > 0 && !isActive(cluster.record)) throw denial('uses-not-counted-here')
  const pause = async () => {
    await clock.sleep((entropy.bytes(1)[0] ?? 0) % 20)
    if (item) [item] = await store.read([item])
    if (!item) throw denial('token-spent')
  }
  const taken = await retry(
    { tries: USE_COUNT_TRIES, pause },
    async (): Promise<Result<LiveToken, 'conflict'>> => {
      if (!item || item.data.numUses <= 0) return ok(alive)
      const numUses = item.data.numUses - 1
      const change = numUses === 0 ? removeIfUnchanged(item) : countDown(item, numUses)
      if ((await store.commit([change], cluster)) !== 'done') return CONFLICT
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
