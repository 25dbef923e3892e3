import type { KeyringTerm } from '../model/term.ts'
import { findEncryptedFields } from '../storage/encrypted-paths.ts'
import { termNumberOf } from '../storage/encryption.ts'
import { itemKindSpec } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import type { JournalEntry } from './journal-entry.ts'

/** The key terms that a cluster needs before it may store certain items. */
export interface TermNeeds {
  /** `number` is the highest number of a term that encrypted a field; 0 if no field is encrypted */
  readonly number: number
  /** `ids` are the identities of the terms that are themselves among the items */
  readonly ids: readonly string[]
  /** `active` is the identity of the term with which this cluster must encrypt; absent: any term */
  readonly active?: string | undefined
}

/** The key terms that items without encrypted fields and without terms need. */
export const NO_TERMS_NEEDED: TermNeeds = { number: 0, ids: [] }

/** Returns the terms that items need: the terms that encrypted their fields, and the terms among the items. */
export const termNeedsOfItems = (items: readonly StoredItem[]): TermNeeds => ({
  number: Math.max(0, ...items.map(numberOf)),
  ids: items.filter(isLiving).map(({ sk }) => sk),
})

/** Returns the terms that the items of journal entries need. */
export const termNeedsOfEntries = (entries: readonly JournalEntry[]): TermNeeds =>
  termNeedsOfItems(entries.flatMap(({ body }) => body.flatMap(({ item }) => item ?? [])))

/** Reports whether this cluster has all needed terms. */
export const hasNeededTerms = (held: TermNeeds, { number, ids, active }: TermNeeds): boolean =>
  number <= held.number &&
  ids.every(id => held.ids.includes(id)) &&
  (active === undefined || held.active === undefined || active === held.active)

const isLiving = ({ kind, data }: StoredItem): boolean =>
  kind === 'term' && (data as Partial<KeyringTerm>).destroyed === undefined

function numberOf({ kind, data }: StoredItem): number {
  // A cluster needs a term item by its identity, not by its number.
  if (kind === 'term') return 0
  const paths = Object.keys(itemKindSpec(kind).encrypted ?? {})
  const terms = findEncryptedFields(paths, data).map(({ text }) => termNumberOf(text) ?? 0)
  return Math.max(0, ...terms)
}
