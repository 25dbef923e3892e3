import type { Guard } from './guards.ts'
import { type Kind, kinds, specOf } from './kinds.ts'

/* Patterns of the tables' partitions, for grants. */

type Table = ReturnType<typeof specOf>['table']

/** Returns the partitions of guarded kinds in a table, as patterns. */
export const guardedPartitions = (table: Table, of: (guard: Guard) => boolean): string[] => [
  ...new Set(
    (Object.keys(kinds) as Kind[])
      .map(specOf)
      .filter(spec => spec.table === table && spec.guard && of(spec.guard))
      .map(({ pk }) => (typeof pk === 'string' ? pk : pk('*'))),
  ),
]

/** The partitions of the table `cluster` that hold sums and hashes of trees. */
export const treePartitions = 't#*'

/**
 * The partitions of the table `cluster` that hold the journal: its head, its entries, its tree. They contain no items
 * of a kind, and only the port `journal` uses them.
 */
export const journalPartitions: readonly string[] = ['journal', 'j#*', treePartitions]

/** The partitions of the table `cluster` that hold journal entries. */
export const entryPartitions: readonly string[] = ['j#*']
