import { parseJournalHead } from '../../../shared/adapters/aws/storage/head.ts'
import type { JournalHead } from '../../../shared/journal/head.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import { fromStoredItem, type StoredItem } from '../../../shared/storage/requests.ts'
import { defined } from '../../../shared/values/defined.ts'
import type { RawItem } from './mirror.ts'

/** A change of one item of a cluster. */
export interface Changed {
  readonly table: 'data' | 'cluster' | 'ceremony'
  readonly pk: string
  readonly sk: string
  readonly before: RawItem | undefined
  readonly after: RawItem | undefined
}

interface Common {
  readonly cluster: string
  /** epoch milliseconds */
  readonly at: number
  /** number of the process */
  readonly process: number
}

/** The events of a history, in the order in which they took effect. */
export type Entry = Common &
  (
    | {
        /** `found`: the first items; `written`: changes of one write or one transaction */
        readonly what: 'found' | 'written'
        readonly changes: readonly Changed[]
      }
    /** a request succeeded, and its success means that it wrote something */
    | { readonly what: 'acknowledged'; readonly request: string }
    /** a forced promotion or a silent cluster; from this event on two clusters may write at once */
    | { readonly what: 'forced' }
    /** the named clusters are at rest, all at the same position */
    | { readonly what: 'rest'; readonly clusters: readonly string[] }
  )

export type History = readonly Entry[]

/** A cluster at some point of a history. */
export interface Standing {
  readonly data: Map<string, StoredItem>
  /** by `<pk>\n<sk>` */
  readonly own: Map<string, RawItem>
  record?: ClusterRecord
  head?: JournalHead
}

/** All clusters at some point of a history. */
export type World = ReadonlyMap<string, Standing>

/** The input of a check: an event, all clusters after the event, and the affected cluster before it. */
export interface Moment {
  readonly entry: Entry
  readonly world: World
  readonly now: Standing
  readonly before: Pick<Standing, 'record' | 'head'>
}

/** Checks every event of a history. @returns the fault at this event */
export type Check = (moment: Moment) => string | undefined

export const placeName = ({ pk, sk }: { pk: string; sk: string }): string => `${pk}\n${sk}`

export interface Violation {
  readonly rule: string
  readonly text: string
  /** of the entry */
  readonly index: number
}

/** Applies an event to the state of all clusters. @returns the input of checks */
export function follow(world: Map<string, Standing>, entry: Entry): Moment {
  const now: Standing = world.get(entry.cluster) ?? { data: new Map(), own: new Map() }
  world.set(entry.cluster, now)
  const before = defined({ record: now.record, head: now.head })
  if ('changes' in entry) for (const change of entry.changes) take(now, change)
  return { entry, world, now, before }
}

/** Goes through a history of events. @returns the first fault that each check finds */
export function violationsIn(history: History, checks: Readonly<Record<string, () => Check>>): Violation[] {
  const world = new Map<string, Standing>()
  const running = Object.entries(checks).map(([rule, make]) => ({ rule, check: make() }))
  const found = new Map<string, Violation>()
  for (const [index, entry] of history.entries()) {
    const moment = follow(world, entry)
    for (const { rule, check } of running) {
      if (found.has(rule)) continue
      const text = check(moment)
      if (text !== undefined) found.set(rule, { rule, text: `${entry.cluster}: ${text}`, index })
    }
  }
  return [...found.values()]
}

function take(standing: Standing, { table, after, ...place }: Changed): void {
  const name = placeName(place)
  if (table === 'data') {
    if (after) standing.data.set(name, after as unknown as StoredItem)
    else standing.data.delete(name)
  }
  if (table !== 'cluster') return
  if (after) standing.own.set(name, after)
  else standing.own.delete(name)
  if (place.pk === 'journal') standing.head = parseJournalHead(after ?? {})
  const record = fromStoredItem('cluster', after as unknown as StoredItem | undefined, 0)
  if (record) standing.record = record.data
}
