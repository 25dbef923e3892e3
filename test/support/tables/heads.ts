import { brokenRules, growingFields, type Head } from '../../../shared/journal/head.ts'
import type { HeadMove } from '../../../shared/journal/transitions.ts'

/** Returns the head after a move, whether or not the move is allowed. */
export function behind(head: Head, { next, add }: HeadMove): Head {
  const counted = Object.entries(add).map(([name, amount]) => [
    name,
    Number(head[name as keyof Head]) + amount,
  ])
  return { ...head, ...next, ...Object.fromEntries(counted) }
}

/** Reports whether a head is as a move expects it, whatever the result of the move. */
export function isExpected(head: Head | undefined, { from, expect }: HeadMove): boolean {
  if (!head || from === 'none') return !head && from === 'none'
  const names = Object.keys(expect) as (keyof Head)[]
  return from.includes(head.mode) && names.every(name => head[name] === expect[name])
}

/** Reports whether no field falls that must never decrease. */
export const isGrowing = (head: Head | undefined, after: Head): boolean =>
  !head || growingFields.every(name => Number(after[name]) >= Number(head[name]))

/** Applies a move to a head in memory. */
export function movedBy(head: Head | undefined, move: HeadMove): Head | 'refused' {
  if (!isExpected(head, move)) return 'refused'
  const after = behind(head ?? ({} as Head), move)
  return isGrowing(head, after) && brokenRules(after).length === 0 ? after : 'refused'
}

/** The log of a journal whose head keeps its rules. @throws Error for a line */
export function noBrokenHead(message: string, fields: object): never {
  throw new Error(`${message}: ${JSON.stringify(fields)}`)
}
