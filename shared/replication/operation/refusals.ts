import { ApiError, createApiError, type ErrorDetails, invalidRequestError } from '../../api/errors.ts'
import type { ClusterMode } from '../../model/cluster.ts'
import type { OperationFault } from '../../model/operation.ts'
import { type DeclareError, declareError } from '../../values/declare-error.ts'
import { describeOperationFault } from './faults.ts'

/*
 * The requests that replication rejects, one function for each reason. The text of a refusal says what is wrong and
 * what to do next. The rejections by a secondary's gate are in the table of error codes, because they apply to all
 * endpoints.
 * @see docs/spec/replication.md#refusals
 */

/** Declares the refusal of an invalid request. */
const declareInvalid: DeclareError<ApiError> = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => invalidRequestError(message), wrong, next)

/** Declares a temporary refusal. @param retryAfter seconds */
const declareBusy = /* @__NO_SIDE_EFFECTS__ */ (retryAfter: number, wrong: string, next: string) => () =>
  createApiError('busy', wrong, next, { retryAfter })

export const becomingSecondaryError = (details: ErrorDetails): ApiError =>
  createApiError(
    'busy',
    'this cluster is becoming a DR secondary and serves no clients',
    'repeat the request when GET sys/health answers 472',
    { retryAfter: 5, ...details },
  )

export const restoredPrimaryCopyError = (details: ErrorDetails): ApiError =>
  createApiError(
    'busy',
    'the tables of this cluster are a restored copy of a DR primary’s tables, so this cluster serves no clients as a primary',
    'within a minute this cluster becomes a DR secondary without a primary; POST sys/replication/dr/secondary/disable then makes this cluster an ordinary cluster',
    { retryAfter: 30, ...details },
  )

export const notAPrimaryError = declareInvalid(
  (mode: ClusterMode) => `not a DR primary: the mode of this cluster is ${mode}`,
  'POST sys/replication/dr/primary/enable makes a DR primary of a cluster without replication',
)

export const notASecondaryError = declareInvalid(
  (mode: ClusterMode) => `not a DR secondary: the mode of this cluster is ${mode}`,
  'send this request to a secondary: GET sys/replication/dr/status shows the mode of a cluster',
)

export const noPublicKeyOfPrimaryError = declareInvalid(
  'this cluster is a DR primary; its keys were made when it became a primary',
  'send this request to the cluster that becomes a secondary',
)

export const invalidSecondaryIdError = declareInvalid(
  'id must have at most 128 letters, digits, "_", "-" or ".", and begin and end with a letter, a digit or "_"',
  'choose another name for the secondary',
)

export const secondaryIdTakenError = declareInvalid(
  (id: string) => `the secondary ${id} exists already, even if no cluster has used its token`,
  'send replace=true to end that admission, or choose another id',
)

export const invalidTokenTtlError = declareInvalid(
  'ttl must be longer than 0 seconds, and 24 hours at most',
  'leave ttl out for a ttl of 30 minutes',
)

export const invalidPublicKeyError = declareInvalid(
  'secondary_public_key is not a public key of a cluster',
  'copy the whole key from POST sys/replication/dr/secondary/generate-public-key on the secondary',
)

export const roleChangingError = declareBusy(
  5,
  'another role change of this cluster is under way',
  'repeat the request when GET sys/replication/dr/status shows that the role change has ended',
)

export const noTreeError = declareInvalid(
  (mode: ClusterMode) => `this cluster keeps no tree: its mode is ${mode}`,
  'only a DR primary or a DR secondary has a tree',
)

export const treeNotBuiltError = declareBusy(
  10,
  'the tree is being built',
  'repeat the request when GET sys/replication/dr/status no longer shows reindex_in_progress',
)

export const reindexRunningError = declareInvalid(
  'a reindex is already running',
  'GET sys/replication/dr/status shows the progress of the running reindex',
)

export const diffNeedsPrimaryError = declareInvalid(
  'diff compares a secondary with its primary, and this cluster follows no primary',
  'leave it out',
)

/** @param at `waits`: the running operation waits for another cluster, and another operation may replace it */
export const operationRunningError = (
  name: string,
  id: string,
  step: string,
  { position = '', waits }: { position?: string | undefined; waits: boolean },
): ApiError =>
  createApiError(
    'busy',
    `the operation ${id} (${name}) is still running, at the step ${step}${position && `, at position ${position}`}`,
    waits
      ? 'GET sys/replication/dr/status shows the progress of the operation, which waits for another cluster; POST sys/replication/dr/secondary/update-primary, or a promotion with force, replaces the operation'
      : 'GET sys/replication/dr/status shows the progress of the operation',
    { retryAfter: 5 },
  )

/**
 * Returns the error of a failed operation. The text of this error says what is wrong and what to do next. The error
 * of a replaced operation has no `Retry-After`, because its text names another request.
 */
export function operationFailedError(fault: OperationFault = unknownFault, usual = 5): ApiError {
  const { code, retryAfter = usual } = fault
  const text = describeOperationFault(fault)
  if (code === 'invalid_request' || code === 'activation_failed') return new ApiError(code, text)
  return new ApiError('busy', text, code === 'passed_over' ? {} : { retryAfter })
}

const unknownFault: OperationFault = {
  code: 'internal',
  text: 'the requested operation could not begin; repeat the request',
}

export const secondariesChangingError = declareBusy(
  1,
  'the secondaries of this cluster are being changed',
  'repeat the request: nothing is revoked twice',
)

/** @param holders clusters that hold keys of the set and are not revoked */
export const noClusterToRevokeError = declareInvalid(
  (nameOrId: string, _holders: readonly string[]) =>
    `id: no cluster of this name or id (${JSON.stringify(nameOrId.slice(0, LONGEST_SHOWN))}); nothing was revoked`,
  (_nameOrId, holders) =>
    `these clusters hold keys: ${holders.length === 0 ? 'none' : listed(holders)}; to revoke a cluster that this cluster does not know, give its UUID with force=true`,
)

/** @param meanings descriptions of the clusters that match the text */
export const ambiguousRevocationError = declareInvalid(
  (nameOrId: string, meanings: readonly string[]) =>
    `id: ${JSON.stringify(nameOrId.slice(0, LONGEST_SHOWN))} denotes ${listed(meanings)}; nothing was revoked`,
  'give the UUID of the cluster that is to be revoked; secondary-token with replace=true ends an admission by its name',
)

export const selfRevocationError = declareInvalid(
  (nameOrId: string) => `id: ${JSON.stringify(nameOrId)} is this cluster itself; nothing was revoked`,
  'give the name or the UUID of another cluster: GET sys/replication/dr/status lists the clusters under terms as given_to',
)

export const checkStartConflictError = declareBusy(
  1,
  'other checks are being started at the same time',
  'repeat the request, which then waits for the running check',
)

export const invalidAddressError = declareInvalid(
  (name: string) => `${name} must be an https address, such as https://east.example.com`,
  'give only scheme, host and port; http, and addresses of this machine or its network, are allowed only on the embedded host',
)

export const ownAddressUnknownError = declareInvalid(
  'the address of this cluster is unknown',
  'give primary_cluster_addr to sys/replication/dr/primary/enable, or set apiAddress',
)

export const alreadyPrimaryError = declareInvalid(
  'this cluster is a DR primary already',
  'give another primary_cluster_addr to change only the address, or make tokens for its secondaries by POST sys/replication/dr/primary/secondary-token',
)

export const notInASetError = declareInvalid(
  'this cluster is in no DR set, so this cluster has no link to other clusters',
  'send this request to a secondary: GET sys/replication/dr/status shows the mode of a cluster',
)

export const primaryCannotJoinError = declareInvalid(
  'this cluster is a DR primary',
  'if the data of this cluster may be lost, end its set by POST sys/replication/dr/primary/disable first',
)

export const addressesNeedLinkError = declareInvalid(
  'this cluster has no credentials for a primary, so it cannot use update_primary_addrs',
  'use a token that the primary makes by POST sys/replication/dr/primary/secondary-token',
)

export const unusableTokenError = declareInvalid(
  'token is not an activation token for this cluster',
  'make a token on the primary by POST sys/replication/dr/primary/secondary-token; a token for a public key needs the newest public key of this cluster',
)

export const activationTokenExpiredError = declareInvalid(
  'token has expired',
  'make another token on the primary by POST sys/replication/dr/primary/secondary-token with replace=true',
)

export const tokenOfDifferentSetError = declareInvalid(
  'token is of a different replication set',
  'make a token on the primary of this cluster’s set, whose cluster_id GET sys/replication/dr/status shows; a cluster of another set has to be emptied by secondary/disable and secondary/enable',
)

export const updateMissingError = declareInvalid(
  'neither token nor update_primary_addrs is given',
  'give the token that the other primary has made, or "" to follow no primary',
)

export const updateAmbiguousError = declareInvalid(
  'both token and update_primary_addrs are given',
  'give the token of another primary, or addresses of the present primary',
)

export const addressCountError = declareInvalid(
  'update_primary_addrs must have 1 to 16 addresses',
  'list the addresses of the primary in the order of the attempts',
)

export const parameterNeedsTokenError = declareInvalid(
  (name: string) => `${name} is only allowed with a token`,
  'leave it out',
)

export const invalidCaError = declareInvalid(
  'ca_cert, ca_file and ca_path must contain nothing but PEM certificates of authorities',
  'leave the three fields out if a public authority issued the certificate of the primary',
)

export const caTooLargeError = declareInvalid(
  'the certificates of authorities are larger than 32 KiB',
  'give only the authorities of the primary’s certificate',
)

export const unknownCaFileError = declareInvalid(
  (field: 'ca_file' | 'ca_path', name: string, shipped: readonly string[]) =>
    shipped.length === 0
      ? `${field}: this deployment has no certificate files`
      : `${field} ${JSON.stringify(name.slice(0, LONGEST_SHOWN))} names no certificate file of this deployment, which has: ${listed(shipped)}`,
  'name a file or folder relative to the folder in the setting caBundles, or give the certificates as ca_cert',
)

const LONGEST_SHOWN = 80
const MOST_NAMES = 20
const listed = (names: readonly string[]): string =>
  [...names.slice(0, MOST_NAMES), ...(names.length > MOST_NAMES ? ['…'] : [])].join(', ')
