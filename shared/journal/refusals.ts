import { type ApiError, refused } from '../api/errors.ts'

/*
 * Temporary refusals of the journal and the tree. Refusals of requests are in `operation/refusals.ts`, faults of
 * operations in `operation/faults.ts`.
 * @see docs/spec/replication.md#refusals
 */

export const journalBusy = (): ApiError =>
  refused('busy', 'the journal is still being written', 'repeat this: what was done stays done', {
    retryAfter: 1,
  })

export const notWriting = (): ApiError =>
  refused(
    'busy',
    'this cluster does not write a journal of its own',
    'repeat this when GET sys/replication/dr/status shows no role change',
    { retryAfter: 5 },
  )

export const recordBusy = (): ApiError =>
  refused('busy', 'the cluster record is being changed', 'repeat this: what was done stays done', {
    retryAfter: 1,
  })

export const treeIncomplete = (): ApiError =>
  refused(
    'busy',
    'the tree is being filled',
    'repeat this when GET sys/replication/dr/status shows that it is done',
    { retryAfter: 10 },
  )

export const treeAhead = (): ApiError =>
  refused('busy', 'the tree is ahead of its journal', 'repeat this in a moment', { retryAfter: 1 })

export const roleHasChanged = (): ApiError =>
  refused(
    'busy',
    'the role of this cluster changed while its tree was being read',
    'repeat this: the next call reads the tree of the new role',
    { retryAfter: 5 },
  )
