import { brokenRules, growing, type Head } from '../../shared/journal/head.ts'
import { type HeadMove, moves } from '../../shared/journal/transitions.ts'

/** What the engine makes of a move of a head, by the sentences of the page: nothing, unless all of them hold. */
export function movedBy(head: Head | undefined, { from, expect, next, add }: HeadMove): Head | 'refused' {
  if (!head) return from === 'none' ? ({ ...next } as Head) : 'refused'
  const names = Object.keys(expect) as (keyof Head)[]
  const isExpected =
    from !== 'none' && from.includes(head.mode) && names.every(name => head[name] === expect[name])
  const after: Head = { ...head, ...next }
  for (const [name, amount] of Object.entries(add))
    Object.assign(after, { [name]: Number(head[name as keyof Head]) + amount })
  const falls = growing.some(name => Number(after[name]) < Number(head[name]))
  return isExpected && !falls && brokenRules(after).length === 0 ? after : 'refused'
}

/** The head of a secondary that has all of a journal up to a position, after a first sync. */
export function followingHead(epoch: string, seq: number, more: Partial<Head> = {}): Head {
  const empty = movedBy(undefined, moves.startEmpty(undefined, 'a link'))
  if (empty === 'refused') throw new Error('there is a head')
  const end = { what: 'all', start: seq, line: [[epoch, 1]], hasFetched: true, end: { epoch, seq } } as const
  const synced = movedBy(empty, moves.endSync(empty, end))
  if (synced === 'refused') throw new Error('there is a head')
  return { ...synced, ...more }
}

/** The log of a journal whose head keeps its rules. @throws Error for a line */
export function noBrokenHead(message: string, fields: object): never {
  throw new Error(`${message}: ${JSON.stringify(fields)}`)
}
