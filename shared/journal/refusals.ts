import { type ApiError, createApiError } from '../api/errors.ts'

/*
 * Temporary refusals of the journal and the tree. Refusals of requests are in `operation/refusals.ts`, faults of
 * operations in `operation/faults.ts`.
 * @see docs/spec/replication.md#refusals
 */

export const journalBusyError = (): ApiError =>
  createApiError('busy', 'the journal is still being written', 'repeat this: what was done stays done', {
    retryAfter: 1,
  })

export const noOwnJournalError = (): ApiError =>
  createApiError(
    'busy',
    'this cluster does not write a journal of its own',
    'repeat this when GET sys/replication/dr/status shows no role change',
    { retryAfter: 5 },
  )

export const clusterRecordBusyError = (): ApiError =>
  createApiError('busy', 'the cluster record is being changed', 'repeat this: what was done stays done', {
    retryAfter: 1,
  })

export const treeIncompleteError = (): ApiError =>
  createApiError(
    'busy',
    'the tree is being filled',
    'repeat this when GET sys/replication/dr/status shows that it is done',
    { retryAfter: 10 },
  )

export const treeAheadError = (): ApiError =>
  createApiError('busy', 'the tree is ahead of its journal', 'repeat this in a moment', { retryAfter: 1 })

export const roleChangedError = (): ApiError =>
  createApiError(
    'busy',
    'the role of this cluster changed while its tree was being read',
    'repeat this: the next call reads the tree of the new role',
    { retryAfter: 5 },
  )
