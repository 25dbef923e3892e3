import { createApiError } from '../api/errors.ts'

/*
 * Temporary refusals of the journal and the tree. Refusals of requests are in `operation/refusals.ts`, faults of
 * operations in `operation/faults.ts`.
 * @see docs/spec/replication.md#refusals
 */

/** Declares a temporary refusal. @param retryAfter seconds */
const declareBusy = /* @__NO_SIDE_EFFECTS__ */ (retryAfter: number, wrong: string, next: string) => () =>
  createApiError('busy', wrong, next, { retryAfter })

export const journalBusyError = declareBusy(
  1,
  'the journal is still being written',
  'repeat the request: completed steps are kept',
)

export const noOwnJournalError = declareBusy(
  5,
  'this cluster does not write a journal of its own',
  'repeat the request when GET sys/replication/dr/status shows no role change',
)

export const clusterRecordBusyError = declareBusy(
  1,
  'the cluster record is being changed',
  'repeat the request: completed steps are kept',
)

export const treeIncompleteError = declareBusy(
  10,
  'the Merkle tree is being filled',
  'repeat the request when GET sys/replication/dr/status shows that the tree is filled',
)

export const treeAheadError = declareBusy(
  1,
  'the Merkle tree is ahead of the journal',
  'repeat the request in a moment',
)

export const roleChangedError = declareBusy(
  5,
  'the role of this cluster changed while its tree was being read',
  'repeat the request: the next call reads the tree of the new role',
)
