import { isDeepStrictEqual } from 'node:util'
import { findBrokenHeadRules, growingHeadFields } from '../../../../shared/journal/head.ts'
import { positionText } from '../../../../shared/journal/position.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { type Check, type Moment, placeName } from '../history.ts'
import { entryIn, hasEntry, ownerOf, witness } from './entries.ts'

/**
 * Checks that an epoch belongs to one cluster. Other clusters never write a journal entry of this epoch, not
 * even an empty entry.
 */
export const oneOwner = (): Check => {
  const seen = witness()
  return ({ entry, now: { record } }) => {
    const foreign = seen.see(entry).find(({ epoch }) => !record?.id.endsWith(ownerOf(epoch)))
    // the first state of a cluster may be a copy of another cluster
    return foreign && entry.what === 'written' ? `writes ${positionText(foreign)}` : undefined
  }
}

/**
 * Checks that a position keeps its journal entry, and that the entry is the same on all clusters. The owner
 * of the epoch writes the entry once. Two processes of a follower may copy an entry at the same time.
 */
export const immutable = (): Check => {
  const seen = witness()
  return ({ entry, now: { record } }) => {
    seen.see(entry)
    if (!('changes' in entry)) return undefined
    for (const change of entry.changes) {
      const found = entryIn(change)
      if (!found) continue
      const first = seen.all.get(positionText(found.entry))
      if (!isDeepStrictEqual(withoutTime(first), withoutTime(found.entry)))
        return `${positionText(found.entry)} is another journal entry than at first`
      const isCopy = !record?.id.endsWith(ownerOf(found.entry.epoch))
      if (change.before && change.after && !(isCopy && isDeepStrictEqual(change.before, change.after)))
        return `${positionText(found.entry)} is written again`
    }
    return undefined
  }
}

// the time of an empty entry depends on the process that closes the position
const withoutTime = (entry: { noop?: true; at: number } | undefined) =>
  entry && (entry.noop ? { ...entry, at: 0 } : entry)

/**
 * Checks that no entry is written in an epoch after its end was reported, and that no entry of the epoch is
 * missing.
 */
export const exactEnd = (): Check => {
  const seen = witness()
  const ended = new Set<string>()
  return ({ entry, now, before }) => {
    const late = seen.see(entry).find(({ epoch }) => ended.has(epoch))
    if (late) return `${positionText(late)} was written after the end of that epoch was told`
    const { head } = before
    if (!head || head.ownEpoch === '' || !told({ now, before })) return undefined
    ended.add(head.ownEpoch)
    return holeIn(now, head)
  }
}

/**
 * Reports whether the end of a cluster's epoch becomes known at this moment: the cluster's record says that
 * it no longer writes, or the cluster writes another epoch.
 */
const told = ({ now, before }: Pick<Moment, 'now' | 'before'>): boolean => {
  const steppedDown = before.record?.mode === 'primary' && now.record?.mode !== 'primary'
  const claimed = before.head?.mode === 'closed' && now.head?.mode === 'writing'
  return steppedDown || claimed
}

function holeIn(
  now: Moment['now'],
  { lineage, retainedFrom, last }: NonNullable<Moment['now']['head']>,
): string | undefined {
  for (let at = retainedFrom + 1; at <= last; at++)
    if (!hasEntry(now, lineage, at)) return `${at} has no journal entry at the end of its epoch`
  return undefined
}

/** Checks that a journal head keeps its rules at every write, and that growing values never fall. */
export const lawful = (): Check => {
  return ({ entry, now: { head }, before }) => {
    if (entry.what !== 'written' || !head) return undefined
    const [broken] = findBrokenHeadRules(head)
    if (broken) return `its head breaks the rule ${broken}`
    const falls = growingHeadFields.find(field => Number(head[field]) < Number(before.head?.[field] ?? 0))
    return falls && `${falls} of its head falls`
  }
}

/** Checks that every staged entry is stored, because entries are stored before the head names them. */
export const staged = (): Check => {
  return ({ entry, now, before }) => {
    const [from, to] = [before.head, now.head]
    if (
      entry.what !== 'written' ||
      !from ||
      !to ||
      from.mode !== 'applying' ||
      to.mode !== 'applying' ||
      to.last <= from.last
    )
      return undefined
    for (let seq = from.last + 1; seq <= to.last; seq++)
      if (!hasEntry(now, to.lineage, seq)) return `says that ${seq} is staged, and has no journal entry there`
    return undefined
  }
}

/**
 * Checks that a commit and its journal entry belong together: the journal entry names every item that
 * changes, with its old and new content, and a cluster that writes a journal changes no item without an
 * entry.
 */
export const named = (): Check => {
  const seen = witness()
  return ({ entry, now: { head }, before }) => {
    const [journalEntry] = seen.see(entry)
    if (entry.what !== 'written' || head?.mode !== 'writing' || before.head?.mode !== 'writing')
      return undefined
    const items = entry.changes.filter(
      ({ table, before: old, after }) => table === 'data' && (old?.['leaf'] ?? after?.['leaf']) !== undefined,
    )
    // a deletion by the engine's time to live changes no sum
    if (items.length === 0 || items.every(({ before: old, after }) => !after && hasDied(old, entry.at)))
      return undefined
    if (!journalEntry)
      return `${items.map(({ pk, sk }) => `${pk}/${sk}`).join()} changed without a journal entry`
    const body = new Map(journalEntry.body.map(change => [placeName(change), change]))
    for (const { pk, sk, before: old, after } of items) {
      const said = body.get(placeName({ pk, sk }))
      if (!said) return `${positionText(journalEntry)} does not name ${pk}/${sk}`
      if ((said.prev?.leaf ?? undefined) !== (old?.['leaf'] as string | undefined))
        return `${positionText(journalEntry)} names another earlier ${pk}/${sk}`
      if (!isDeepStrictEqual(content(said.item), content(after as StoredItem | undefined)))
        return `${positionText(journalEntry)} names another ${pk}/${sk} than it writes`
    }
    return undefined
  }
}

const hasDied = (item: Readonly<Record<string, unknown>> | undefined, at: number): boolean =>
  Number(item?.['ttl'] ?? Number.POSITIVE_INFINITY) * 1000 <= at

const content = (item: StoredItem | null | undefined) => (item ? { ...item, bucket: undefined } : undefined)
