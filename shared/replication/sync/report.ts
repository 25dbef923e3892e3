import { type ItemPlace, itemPlaceText } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { positionText } from '../../journal/position.ts'
import type { DifferenceReport, LostChange } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { createItem } from '../../storage/changes.ts'
import { isItemKind, itemPartitions, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { pickItemPlace } from '../apply/judge.ts'

/**
 * Maximum length of a part of a report in characters. DynamoDB allows 400,000 bytes, and a character may have
 * three.
 */
const LONGEST_PART = 100_000

/**
 * Splits the changes that a rewind undoes into parts that fit into items. A part of a report that is too long
 * contains the keys of its changes without the items.
 */
export function splitDifferenceReport(
  facts: Pick<DifferenceReport, 'at' | 'epoch' | 'forkPoint'>,
  entries: readonly JournalEntry[],
  keys: readonly ItemPlace[],
): DifferenceReport[] {
  const lost = entries
    .filter(entry => entry.body.length > 0)
    .map(entry => {
      const changes = entry.body.map(
        ({ kind, pk, sk, item }): LostChange => defined({ kind, pk, sk, item: item ?? undefined }),
      )
      return { pos: positionText(entry), id: entry.id, at: entry.at, changes }
    })
    .map(entry => (lengthOf(entry) > LONGEST_PART ? withoutItems(entry) : entry))
  const byEntries = splitIntoParts(lost).map(some => ({ ...facts, entries: some, keys: [] }))
  const byKeys = splitIntoParts(keys.map(pickItemPlace)).map(some => ({
    ...facts,
    entries: [],
    keys: some,
  }))
  const parts = [...byEntries, ...byKeys]
  return parts.length > 0 ? parts : [{ ...facts, entries: [], keys: [] }]
}

const lengthOf = (value: unknown): number => JSON.stringify(value).length

const withoutItems = (entry: DifferenceReport['entries'][number]): DifferenceReport['entries'][number] => ({
  ...entry,
  withoutItems: true,
  changes: entry.changes.map(({ kind, pk, sk }) => ({ kind, pk, sk })),
})

function splitIntoParts<T>(all: readonly T[]): T[][] {
  const parts: T[][] = []
  let length = 0
  for (const one of all) {
    const more = lengthOf(one)
    const last = parts.at(-1)
    if (last && length + more <= LONGEST_PART) {
      last.push(one)
      length += more
    } else {
      parts.push([one])
      length = more
    }
  }
  return parts
}

/** Returns the keys in a report, each once, in a fixed order. */
export function listReportedPlaces(parts: readonly DifferenceReport[]): ItemPlace[] {
  const named = parts.flatMap(({ entries, keys }) => [...entries.flatMap(entry => entry.changes), ...keys])
  const places = named.flatMap(({ kind, pk, sk }) => (isItemKind(kind) ? [{ kind, pk, sk }] : []))
  return [...new Map(places.map(place => [itemPlaceText(place), place])).values()]
}

/**
 * Returns the name of a new report. Reports sort by the incarnation of their sync. Each attempt of a sync has its
 * own report name.
 */
export const differenceReportName = (incarnation: number, random: Buffer): string =>
  `${String(incarnation).padStart(9, '0')}.${random.toString('hex')}`

/** Stores a report part by part, before the sync undoes anything. @throws Error if a part could not be stored */
export async function storeDifferenceReport(
  store: Ports['store'],
  cluster: ClusterRead,
  name: string,
  parts: readonly DifferenceReport[],
): Promise<void> {
  for (const [index, part] of parts.entries()) {
    const at = key('report', `${name}/${String(index).padStart(4, '0')}-${parts.length}`)
    const stored = await store.commit([createItem(at, part)], cluster)
    if (stored !== 'done') throw new Error(`the entry ${at.sk} of the difference report could not be stored`)
  }
}

/** Reads the keys in a stored report. */
export async function readReportedKeys(store: Ports['store'], name: string): Promise<ItemPlace[]> {
  const found = await store.list(itemPartitions('report'), { after: `${name}/` })
  return listReportedPlaces(found.filter(({ sk }) => sk.startsWith(`${name}/`)).map(({ data }) => data))
}
