import { parseJournalEntry } from '../../../../shared/adapters/aws/storage/entries.ts'
import type { JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { epochAt, type JournalLineage, positionText } from '../../../../shared/journal/position.ts'
import type { Changed, Entry, Moment } from '../history.ts'
import type { RawItem } from '../mirror.ts'

const CELL = /^j#(\d{6}\.[0-9a-f]{12})#/

/** Returns the journal entry that a change puts or deletes. */
export function entryIn({
  table,
  pk,
  sk,
  before,
  after,
}: Changed): { entry: JournalEntry; gone: boolean } | undefined {
  const [, epoch] = CELL.exec(pk) ?? []
  const item: RawItem | undefined = after ?? before
  // further parts of a large journal entry add no changes
  if (table !== 'cluster' || epoch === undefined || !item || sk.includes('.')) return undefined
  const entry = read.get(item) ?? parseJournalEntry({ epoch, seq: Number(sk) }, item)
  read.set(item, entry)
  return { entry, gone: after === undefined }
}

/** Decoded journal entries by their stored items, so that each is inflated only once. */
const read = new WeakMap<RawItem, JournalEntry>()

/** Reports whether a cluster has the journal entry of a position. */
export const hasEntry = (
  { own }: Pick<Moment['now'], 'own'>,
  lineage: JournalLineage,
  seq: number,
): boolean => {
  const epoch = epochAt(lineage, seq)
  return own.has(`j#${epoch}#${seq % 32}\n${String(seq).padStart(12, '0')}`)
}

/** Returns the journal entries that an event puts. */
export const entriesIn = (entry: Entry): JournalEntry[] =>
  'changes' in entry
    ? entry.changes.flatMap(change => {
        const found = entryIn(change)
        return found && !found.gone ? [found.entry] : []
      })
    : []

/** Remembers all journal entries in their first version. */
export function witness() {
  const all = new Map<string, JournalEntry>()
  return {
    all,
    /** notes an event @returns the journal entries that the event puts for the first time */
    see: (entry: Entry): JournalEntry[] => {
      const fresh = entriesIn(entry).filter(entry => !all.has(positionText(entry)))
      for (const entry of fresh) all.set(positionText(entry), entry)
      return fresh
    },
    at: (lineage: JournalLineage, seq: number): JournalEntry | undefined =>
      all.get(positionText({ epoch: epochAt(lineage, seq), seq })),
  }
}

/** Returns the 12 digits of a cluster's id in the name of an epoch. */
export const ownerOf = (epoch: string): string => epoch.slice(7)
