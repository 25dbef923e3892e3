import { ApiError } from '../api/errors.ts'

/*
 * What the journal and the tree refuse for the moment, one row for each: what is wrong, and what to do next. Those of
 * requests stand in `manage/refusals.ts`, the faults of operations in `operation/faults.ts`.
 * @see docs/spec/replication.md#refusals
 */

const refused = (wrong: string, next: string, retryAfter: number): ApiError =>
  new ApiError('busy', `${wrong}; ${next}`, { retryAfter })

export const journalWritten = (): ApiError =>
  refused('the journal is still being written', 'repeat this: what was done stays done', 1)

export const noJournalOpen = (): ApiError =>
  refused(
    'this cluster does not write a journal of its own',
    'repeat this when GET sys/replication/dr/status shows no change of its role any more',
    1,
  )

export const recordWritten = (): ApiError =>
  refused('the cluster record is being changed', 'repeat this: what was done stays done', 1)

export const treeFills = (): ApiError =>
  refused(
    'the tree is being filled',
    'repeat this when GET sys/replication/dr/status shows that it is done',
    10,
  )

export const treeAhead = (): ApiError =>
  refused('the tree is ahead of its journal', 'repeat this in a moment', 1)

export const roleHasChanged = (): ApiError =>
  refused(
    'the cluster has changed its role while its tree was looked at',
    'repeat this: it looks at the tree of the new role',
    5,
  )
