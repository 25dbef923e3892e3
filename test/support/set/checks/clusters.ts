import { isDeepStrictEqual } from 'node:util'
import type { JournalHead } from '../../../../shared/journal/head.ts'
import { epochAt, type JournalLineage, positionText } from '../../../../shared/journal/position.ts'
import { readStoredLeafInTree } from '../../../../shared/journal/tree.ts'
import { fromStoredItem, type StoredItem } from '../../../../shared/storage/requests.ts'
import { type Check, type Moment, placeName, type Standing } from '../history.ts'
import { witness } from './entries.ts'
import { treeText } from './tree.ts'

/**
 * Computes the leaves of the hash tree at a position of the journal, by place. Returns undefined if a journal
 * entry is unknown.
 */
function fold(
  seen: ReturnType<typeof witness>,
  lineage: JournalLineage,
  upTo: number,
): Map<string, string> | undefined {
  const leaves = new Map<string, string>()
  for (let seq = 1; seq <= upTo; seq++) {
    const entry = seen.at(lineage, seq)
    if (!entry) return undefined
    for (const change of entry.body)
      if (change.next) leaves.set(placeName(change), change.next.leaf)
      else leaves.delete(placeName(change))
  }
  return leaves
}

/** Returns the leaves of the items that have not expired. */
function leavesOf({ data, record }: Standing, seconds: number): Map<string, string> {
  const { treeId = '' } = record ?? {}
  const live = [...data].filter(([, item]) => readStoredLeafInTree(item, treeId) && !isDead(item, seconds))
  return new Map(live.map(([name, { leaf = '' }]) => [name, leaf]))
}

const isDead = ({ ttl, expires }: StoredItem, seconds: number): boolean =>
  ttl !== undefined && expires !== undefined && expires <= seconds

/**
 * Checks that a cluster that has applied all staged entries has exactly the items of its journal: a prefix of
 * its primary's items, and no partial commit. Replaying the journal from its beginning gives the table.
 */
export const prefix = (): Check => {
  const seen = witness()
  return ({ entry, now, before }) => {
    seen.see(entry)
    const { head } = now
    if (entry.what !== 'written' || !head || !isWhole(head) || isDeepStrictEqual(before.head, head))
      return undefined
    const said = fold(seen, head.lineage, head.applied)
    if (!said)
      return head.lineage[0]?.[1] === 1
        ? `a position below ${positionText({ epoch: head.epoch, seq: head.applied })} is not known`
        : undefined
    return difference(said, leavesOf(now, Math.floor(entry.at / 1000)), now, entry.at)
  }
}

/** Reports whether all staged entries are applied and no item is ahead of them, according to the head. */
const isWhole = ({ mode, applied, last, replayUntil, unfinishedSync, lineage }: JournalHead): boolean =>
  (mode === 'applying' || mode === 'draining') &&
  applied === last &&
  replayUntil === 0 &&
  unfinishedSync === null &&
  lineage[0]?.[1] === 1

function difference(
  said: ReadonlyMap<string, string>,
  there: ReadonlyMap<string, string>,
  { data }: Standing,
  at: number,
): string | undefined {
  for (const [name, leaf] of there)
    if (said.get(name) !== leaf) return `${JSON.stringify(name)} is not as the journal says`
  for (const name of said.keys()) {
    const item = data.get(name)
    if (!there.has(name) && !(item && isDead(item, at / 1000))) return `${JSON.stringify(name)} is missing`
  }
  return undefined
}

/**
 * Checks that no two clusters write in one epoch, and that no two clusters of a set write at all before a
 * forced promotion.
 */
export const onePrimary = (): Check => {
  let forced = false
  return ({ entry, world, now }) => {
    if (entry.what === 'forced') forced = true
    const writing = [...world].filter(
      ([, { head, record }]) => head?.mode === 'writing' && record?.set === now.record?.set,
    )
    const epochs = writing.map(([, { head }]) => head?.epoch)
    if (new Set(epochs).size < epochs.length) return `${epochs} are written by more than one`
    if (forced || writing.length < 2) return undefined
    return `${writing.map(([name]) => name)} write at once, and nobody was forced`
  }
}

/**
 * Checks that a cluster does not change its DR set while it belongs to one. A cluster leaves its set only
 * when it stops replicating.
 */
export const oneSet = (): Check => {
  return ({ now: { record }, before }) => {
    const [old, next] = [before.record, record]
    if (!old?.set || !next?.set || old.set === next.set || old.mode === 'bootstrapping') return undefined
    return `goes from set ${old.set} to ${next.set} as ${old.mode}`
  }
}

/** Checks that every acknowledged write was committed. */
export const acknowledged = (): Check => {
  const writers = new Set<number>()
  return ({ entry }) => {
    if (entry.what === 'written' && entry.changes.some(({ table }) => table === 'data'))
      writers.add(entry.process)
    return entry.what === 'acknowledged' && !writers.has(entry.process)
      ? `${entry.request} was acknowledged, and nothing was written`
      : undefined
  }
}

/** Checks that at rest all clusters have the same items, sums and position. */
export const even = (): Check => {
  return ({ entry, world }) => {
    if (entry.what !== 'rest') return undefined
    const seconds = Math.floor(entry.at / 1000)
    const [first, ...others] = entry.clusters.map(name => {
      const standing = world.get(name)
      if (!standing?.head) throw new Error(`${name} has no journal`)
      const { last, epoch } = standing.head
      return {
        name,
        at: positionText({ epoch, seq: last }),
        leaves: leavesOf(standing, seconds),
        tree: treeText(standing, seconds),
      }
    })
    for (const one of others) {
      if (!first || one.at !== first.at) return `${one.name} is at ${one.at}, not at ${first?.at}`
      const name = [...new Set([...one.leaves.keys(), ...first.leaves.keys()])].find(
        key => one.leaves.get(key) !== first.leaves.get(key),
      )
      if (name !== undefined) return `${one.name} differs in ${JSON.stringify(name)}`
      if (!isDeepStrictEqual(one.tree, first.tree)) return `${one.name} has other sums`
    }
    return undefined
  }
}

/**
 * Checks that every commit is in the journal that all clusters have at rest, or in a report of lost writes.
 * Commits are no longer checked after a cluster gave up its own journal: after it was wiped, or promoted by
 * force during a sync.
 */
export const kept = (): Check => {
  const seen = witness()
  let inexact = false
  return ({ entry, world, now, before }) => {
    seen.see(entry)
    if (givesUp({ now, before })) inexact = true
    if (entry.what !== 'rest' || inexact) return undefined
    const head = world.get(entry.clusters[0] ?? '')?.head
    if (!head) return undefined
    const reported = new Set([...world.values()].flatMap(reportedIn))
    for (const entry of seen.all.values()) {
      const isThere = epochAt(head.lineage, entry.seq) === entry.epoch && entry.seq <= head.last
      if (entry.body.length > 0 && !isThere && !reported.has(positionText(entry)))
        return `${positionText(entry)} was lost, and no report names it`
    }
    return undefined
  }
}

const givesUp = ({ now, before }: Pick<Moment, 'now' | 'before'>): boolean => {
  const claimedAmidSync =
    before.head?.unfinishedSync && now.head?.mode === 'writing' && before.head.mode !== 'writing'
  const emptied =
    before.head && before.record?.mode !== 'bootstrapping' && now.record?.mode === 'bootstrapping'
  const disabled = before.record?.mode !== 'disabled' && before.record && now.record?.mode === 'disabled'
  const all =
    before.head?.mode !== 'syncing' &&
    now.head?.mode === 'syncing' &&
    now.head.unfinishedSync === 'all' &&
    (before.head?.last ?? 0) > 0
  return Boolean(claimedAmidSync || emptied || disabled || all)
}

/** Positions of the journal entries that a cluster's reports name. */
const reportedIn = ({ own }: Standing): string[] =>
  [...own.values()].flatMap(item => {
    const report =
      item['kind'] === 'report' ? fromStoredItem('report', item as unknown as StoredItem, 0) : undefined
    return report?.data.entries.map(({ pos }) => pos) ?? []
  })
