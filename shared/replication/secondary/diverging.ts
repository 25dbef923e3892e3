import { alarming } from '../../api/alarming.ts'
import { writeAuditEvent } from '../../journal/events.ts'
import { type Journal, type Place, placeText } from '../../journal/journal.ts'
import type { Diverging, DivergingKey } from '../../model/secondary.ts'
import { replace } from '../../storage/changes.ts'
import { type Kind, key, kinds } from '../../storage/kinds.ts'
import { CONFLICT, failed, ok, type Result } from '../../values/result.ts'
import { sha256 } from '../../values/secret.ts'
import type { Follower } from './follower.ts'

/** Syncs of a key after which it is given up. */
const ROUNDS = 3
/** Milliseconds after which a sync of a key does not count any more. */
const ROUND_FORGOTTEN_MS = 3_600_000
/** The most keys that are remembered: a secondary that differs in more stops. */
const MOST = 200

/**
 * Whether nothing more is done about a key but to take what journal entries say of it, whatever stands here.
 * @see docs/spec/following.md#what-does-not-stay-in-line
 */
export const isGivenUp = ({ rounds }: Pick<DivergingKey, 'rounds'>): boolean => rounds > ROUNDS

/** Returns the keys that were noted for the link and the tree that a cluster has now. */
export const divergingOf = (
  item: { readonly data: Diverging } | undefined,
  { treeId, link }: { treeId: string | undefined; link: string | undefined },
): readonly DivergingKey[] =>
  item && item.data.treeId === treeId && item.data.link === (link ?? '') ? item.data.keys : []

/** Reads the keys that have been given up, each once, as texts of `placeText`. */
export async function readGivenUpKeys(
  journal: Pick<Journal, 'readRaw'>,
  here: { treeId: string; link: string },
): Promise<ReadonlySet<string>> {
  const [item] = await journal.readRaw([key('diverging')])
  const keys = item ? divergingOf({ data: item.data as Diverging }, here) : []
  return new Set(keys.filter(isGivenUp).map(placeText))
}

/** Returns a short public name of a key: its kind, and the beginning of its SHA-256, hex. */
export const tagOf = ({ kind, pk, sk }: Pick<DivergingKey, 'kind' | 'pk' | 'sk'>): string =>
  `${kind} ${sha256(placeText({ pk, sk })).toString('hex').slice(0, 12)}`

/** Names some of many keys in a text that status shows: the log has their full names. */
export const tagsOf = (keys: readonly Parameters<typeof tagOf>[0][]): string =>
  keys.slice(0, 10).map(tagOf).join(', ')

/** Names some of many items for the log: a line has no room for all. */
export const nameItems = (items: readonly Pick<DivergingKey, 'kind' | 'pk' | 'sk'>[], most = 10): string[] =>
  items.slice(0, most).map(({ kind, pk, sk }) => `${kind} ${pk}/${sk}`)

/** Returns the keys as places, except those of kinds that this version does not know. */
export const placesOf = (keys: readonly DivergingKey[]): Place[] =>
  keys.flatMap(({ kind, pk, sk }) => (Object.hasOwn(kinds, kind) ? [{ kind: kind as Kind, pk, sk }] : []))

interface Round {
  /** what is kept of the keys */
  readonly keys: DivergingKey[]
  /** those that are given up from now on */
  readonly newlyGivenUp: readonly DivergingKey[]
  /** those that a sync may bring in line */
  readonly remaining: readonly Place[]
  /** there are too many to go on */
  readonly tooMany: boolean
}

/**
 * Decides what happens to keys that differ from the primary's.
 * @param now epoch milliseconds
 */
export function judgeRound(before: readonly DivergingKey[], wrong: readonly Place[], now: number): Round {
  const names = new Set(wrong.map(placeText))
  const known = before.filter(one => isGivenUp(one) || now - one.at < ROUND_FORGOTTEN_MS)
  const again = known.map(one =>
    names.has(placeText(one)) ? { ...one, rounds: one.rounds + 1, at: now } : one,
  )
  const old = new Set(known.map(placeText))
  const first = wrong
    .filter(one => !old.has(placeText(one)))
    .map(({ kind, pk, sk }): DivergingKey => ({ kind, pk, sk, rounds: 1, at: now }))
  // given-up keys first, then those that were tried most often
  const keys = [...again, ...first].sort((a, b) => b.rounds - a.rounds).slice(0, MOST)
  const lost = new Set(keys.filter(isGivenUp).map(placeText))
  const remaining = wrong.filter(one => !lost.has(placeText(one)))
  return {
    keys,
    newlyGivenUp: keys.filter(one => one.rounds === ROUNDS + 1 && names.has(placeText(one))),
    remaining,
    tooMany: lost.size === MOST && remaining.length > 0,
  }
}

/** Names of keys that an entry of the audit log or of the log has room for. */
const NAMED = 20

/**
 * Counts a round of keys that differ from the primary's. Keys that still differ after three syncs are given up: the log and
 * the audit log name them, and no sync fetches them any more.
 * @returns those for another sync; `conflict`: another run counts too
 */
export async function countRound(
  { own, cluster, treeId, linkName }: Pick<Follower, 'own' | 'cluster' | 'treeId' | 'linkName'>,
  wrong: readonly Place[],
): Promise<Result<readonly Place[], 'too-many' | 'conflict'>> {
  const read = await cluster()
  if (!read) return CONFLICT
  const place = key('diverging')
  const [before] = await own.store.read([place])
  const now = own.clock.now()
  const known = divergingOf(before, { treeId, link: linkName })
  const { keys, newlyGivenUp, remaining, tooMany } = judgeRound(known, wrong, now)
  if (newlyGivenUp.length > 0) {
    const facts = { count: newlyGivenUp.length, items: nameItems(newlyGivenUp, NAMED) }
    own.log.error(alarming.givenUp, {
      ...facts,
      reason: 'check the tree of the primary; then POST sys/replication/recover here',
    })
    await writeAuditEvent('divergence', linkName, read.record, facts, own)
  }
  const written = await own.store.commit([replace(place, before, { treeId, link: linkName, keys })], read)
  if (written === 'conflict') return CONFLICT
  return tooMany ? failed('too-many') : ok(remaining)
}
