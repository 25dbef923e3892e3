/**
 * Names that stand in tables and in events that a function sends itself, where the code has others: clusters of earlier
 * versions have written them, and read them still. One row for each kind of item, for the head of the journal, and for
 * jobs; what has none is stored as it is called.
 */
const storedNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cluster: { treeId: 'life' },
  segment: { treeId: 'life', incarnation: 'hold', lineage: 'line' },
  diverging: { treeId: 'life' },
  'tree-check': { treeId: 'life' },
  'tree-reindex': { treeId: 'life' },
  reindex: { treeId: 'life' },
  job: { treeId: 'life' },
  head: {
    last: 'seq',
    applied: 'done',
    incarnation: 'hold',
    maxEpoch: 'n',
    retainedFrom: 'from',
    replayUntil: 'until',
    unfinishedSync: 'dirty',
    unfinishedSyncEpoch: 'dirtyFrom',
    lineage: 'line',
    successor: 'heir',
  },
  'primary-closed': { successor: 'heir' },
}

const renamed = (value: object, names: ReadonlyMap<string, string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [names.get(name) ?? name, member]))

const stored = new Map(Object.entries(storedNames).map(([of, names]) => [of, new Map(Object.entries(names))]))
const read = new Map(
  [...stored].map(([of, names]) => [of, new Map([...names].map(([name, kept]) => [kept, name]))]),
)

/** A value by the names that are stored. @param of kind of the item, `head`, or `job` */
export function byStoredNames<T extends object>(of: string, value: T): T | Record<string, unknown> {
  const names = stored.get(of)
  return names ? renamed(value, names) : value
}

/** What was stored, by the names that the code has. */
export function byOwnNames<T extends object>(of: string, value: T): T | Record<string, unknown> {
  const names = read.get(of)
  return names ? renamed(value, names) : value
}

/** The name under which one member is stored. */
export const storedName = (of: string, name: string): string => stored.get(of)?.get(name) ?? name
