import { alarmingTexts } from '../../api/alarming.ts'
import { writeReplicationEvent } from '../../journal/events.ts'
import { type ItemPlace, itemPlaceText, type Journal } from '../../journal/journal.ts'
import type { DivergingKey, DivergingKeys } from '../../model/secondary.ts'
import { replaceItem } from '../../storage/changes.ts'
import { itemKinds, type Kind, key } from '../../storage/kinds.ts'
import { CONFLICT_RESULT, failed, ok, type Result } from '../../values/result.ts'
import { sha256 } from '../../values/secret.ts'
import type { Follower } from './follower.ts'

/** Number of syncs after which a diverging key is given up. */
const ROUNDS = 3
/** Milliseconds after which a sync of a key no longer counts. */
const ROUND_FORGOTTEN_MS = 3_600_000
/**
 * Maximum number of diverging keys that a secondary remembers. A secondary with more diverging keys stops
 * following.
 */
const MOST = 200

/**
 * Reports whether a key is given up: no sync fetches the key any more, and the applier writes its journal entries
 * without comparing.
 * @see docs/spec/following.md#what-does-not-stay-in-line
 */
export const isDivergingKeyGivenUp = ({ rounds }: Pick<DivergingKey, 'rounds'>): boolean => rounds > ROUNDS

/** Returns the differing keys that belong to the cluster's current link and tree. */
export const divergingKeysOf = (
  item: { readonly data: DivergingKeys } | undefined,
  { treeId, link }: { treeId: string | undefined; link: string | undefined },
): readonly DivergingKey[] =>
  item && item.data.treeId === treeId && item.data.link === (link ?? '') ? item.data.keys : []

/** Reads the given-up keys as texts of `itemPlaceText`. */
export async function readGivenUpKeys(
  journal: Pick<Journal, 'readRaw'>,
  here: { treeId: string; link: string },
): Promise<ReadonlySet<string>> {
  const [item] = await journal.readRaw([key('diverging')])
  const keys = item ? divergingKeysOf({ data: item.data as DivergingKeys }, here) : []
  return new Set(keys.filter(isDivergingKeyGivenUp).map(itemPlaceText))
}

/** Returns a short public name of a key: its kind and the beginning of its SHA-256 in hex. */
export const shortKeyName = ({ kind, pk, sk }: Pick<DivergingKey, 'kind' | 'pk' | 'sk'>): string =>
  `${kind} ${sha256(itemPlaceText({ pk, sk })).toString('hex').slice(0, 12)}`

/** Names the first ten diverging keys in a text that status shows. The log has the full names of the diverging keys. */
export const shortKeyNames = (keys: readonly Parameters<typeof shortKeyName>[0][]): string =>
  keys.slice(0, 10).map(shortKeyName).join(', ')

/** Names the first diverging items for a log line. */
export const formatItemNames = (
  items: readonly Pick<DivergingKey, 'kind' | 'pk' | 'sk'>[],
  most = 10,
): string[] => items.slice(0, most).map(({ kind, pk, sk }) => `${kind} ${pk}/${sk}`)

/** Returns the diverging keys as places, except keys of kinds that this version does not know. */
export const toItemPlaces = (keys: readonly DivergingKey[]): ItemPlace[] =>
  keys.flatMap(({ kind, pk, sk }) => (Object.hasOwn(itemKinds, kind) ? [{ kind: kind as Kind, pk, sk }] : []))

interface Round {
  /** `keys` are the diverging keys to store */
  readonly keys: DivergingKey[]
  /** keys that are given up in this round */
  readonly newlyGivenUp: readonly DivergingKey[]
  /** keys that a sync may still correct */
  readonly remaining: readonly ItemPlace[]
  /** `tooMany`: whether the secondary must stop, because it differs from the primary in too many keys */
  readonly tooMany: boolean
}

/**
 * Decides whether a sync fetches diverging keys again or gives them up.
 * @param now epoch milliseconds
 */
export function judgeRepairRound(
  before: readonly DivergingKey[],
  wrong: readonly ItemPlace[],
  now: number,
): Round {
  const names = new Set(wrong.map(itemPlaceText))
  const known = before.filter(one => isDivergingKeyGivenUp(one) || now - one.at < ROUND_FORGOTTEN_MS)
  const again = known.map(one =>
    names.has(itemPlaceText(one)) ? { ...one, rounds: one.rounds + 1, at: now } : one,
  )
  const old = new Set(known.map(itemPlaceText))
  const first = wrong
    .filter(one => !old.has(itemPlaceText(one)))
    .map(({ kind, pk, sk }): DivergingKey => ({ kind, pk, sk, rounds: 1, at: now }))
  // given-up keys come first, then the keys with most rounds
  const keys = [...again, ...first].sort((a, b) => b.rounds - a.rounds).slice(0, MOST)
  const lost = new Set(keys.filter(isDivergingKeyGivenUp).map(itemPlaceText))
  const remaining = wrong.filter(one => !lost.has(itemPlaceText(one)))
  return {
    keys,
    newlyGivenUp: keys.filter(one => one.rounds === ROUNDS + 1 && names.has(itemPlaceText(one))),
    remaining,
    tooMany: lost.size === MOST && remaining.length > 0,
  }
}

/** Keys that fit into a log line or an audit entry. */
const NAMED = 20

/**
 * Counts a round for the keys that differ from the primary's. Keys that still differ after three syncs are given
 * up: the log and the audit log name these keys, and no sync fetches them any more.
 * @returns the keys for another sync; `conflict`: another run counts at the same time
 */
export async function countRepairRound(
  { own, cluster, treeId, linkName }: Pick<Follower, 'own' | 'cluster' | 'treeId' | 'linkName'>,
  wrong: readonly ItemPlace[],
): Promise<Result<readonly ItemPlace[], 'too-many' | 'conflict'>> {
  const read = await cluster()
  if (!read) return CONFLICT_RESULT
  const place = key('diverging')
  const [before] = await own.store.read([place])
  const now = own.clock.now()
  const known = divergingKeysOf(before, { treeId, link: linkName })
  const { keys, newlyGivenUp, remaining, tooMany } = judgeRepairRound(known, wrong, now)
  if (newlyGivenUp.length > 0) {
    const facts = { count: newlyGivenUp.length, items: formatItemNames(newlyGivenUp, NAMED) }
    own.log.error(alarmingTexts.givenUp, {
      ...facts,
      reason: 'check the tree of the primary; then POST sys/replication/recover here',
    })
    await writeReplicationEvent('divergence', linkName, read.record, facts, own)
  }
  const written = await own.store.commit([replaceItem(place, before, { treeId, link: linkName, keys })], read)
  if (written === 'conflict') return CONFLICT_RESULT
  return tooMany ? failed('too-many') : ok(remaining)
}
