import { findBrokenHeadRules, growingHeadFields, type JournalHead } from '../../../shared/journal/head.ts'
import type { HeadMove } from '../../../shared/journal/transitions.ts'

/** Returns the journal head after a move, whether or not the move is allowed. */
export function behind(head: JournalHead, { next, add }: HeadMove): JournalHead {
  const counted = Object.entries(add).map(([name, amount]) => [
    name,
    Number(head[name as keyof JournalHead]) + amount,
  ])
  return { ...head, ...next, ...Object.fromEntries(counted) }
}

/** Reports whether a journal head is as a move expects it, whatever the result of the move. */
export function isExpected(head: JournalHead | undefined, { from, expect }: HeadMove): boolean {
  if (!head || from === 'none') return !head && from === 'none'
  const names = Object.keys(expect) as (keyof JournalHead)[]
  return from.includes(head.mode) && names.every(name => head[name] === expect[name])
}

/** Reports whether no field of a journal head falls that must never decrease. */
export const isGrowing = (head: JournalHead | undefined, after: JournalHead): boolean =>
  !head || growingHeadFields.every(name => Number(after[name]) >= Number(head[name]))

/** Applies a move to a journal head in memory. */
export function movedBy(head: JournalHead | undefined, move: HeadMove): JournalHead | 'refused' {
  if (!isExpected(head, move)) return 'refused'
  const after = behind(head ?? ({} as JournalHead), move)
  return isGrowing(head, after) && findBrokenHeadRules(after).length === 0 ? after : 'refused'
}

/** A logger for a journal whose head must keep its rules. @throws Error for every logged line */
export function noBrokenHead(message: string, fields: object): never {
  throw new Error(`${message}: ${JSON.stringify(fields)}`)
}
