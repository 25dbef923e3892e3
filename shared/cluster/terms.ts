import type { Term } from '../model/term.ts'
import type { TermMade } from '../ports.ts'
import { type Change, create } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'

/** What names a term in the data that replicate. */
export const termItem = ({ number, probe }: TermMade, now: number): Term => ({ number, probe, since: now })

/**
 * Notes the terms that a keyring holds, and that no item names yet: the new one, and with the first rotation those of
 * a keyring that was made before terms were noted.
 * @param known their identities
 */
export const noteTerms = (made: readonly TermMade[], known: readonly string[], now: number): Change[] =>
  made.filter(({ id }) => !known.includes(id)).map(one => create(key('term', one.id), termItem(one, now)))
