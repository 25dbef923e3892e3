import type { TableGuard } from './guards.ts'
import { itemKindSpec, itemKinds, type Kind } from './kinds.ts'

/* Patterns of the tables' partitions, for grants. */

type Table = ReturnType<typeof itemKindSpec>['table']

/** Returns the partitions of guarded kinds in a table, as patterns. */
export const guardedPartitionPatterns = (table: Table, of: (guard: TableGuard) => boolean): string[] => [
  ...new Set(
    (Object.keys(itemKinds) as Kind[])
      .map(itemKindSpec)
      .filter(spec => spec.table === table && spec.guard && of(spec.guard))
      .map(({ pk, spread }) => `${typeof pk === 'string' ? pk : pk('*')}${spread ? '#*' : ''}`),
  ),
]

/** The partitions of the table `cluster` that hold sums and hashes of trees. */
export const treePartitionPattern = 't#*'

/**
 * The partitions of the table `cluster` that hold the journal: its head, its entries, its tree. The journal's
 * partitions contain no items of a kind, and only the port `journal` uses them.
 */
export const journalPartitionPatterns: readonly string[] = ['journal', 'j#*', treePartitionPattern]

/** The partitions of the table `cluster` that hold journal entries. */
export const entryPartitionPatterns: readonly string[] = ['j#*']
