import { expect, test } from 'vitest'
import type { ApiError } from '../../../../shared/api/errors.ts'
import * as token from '../../../../shared/ceremony/refusals.ts'
import * as journal from '../../../../shared/journal/refusals.ts'
import * as role from '../../../../shared/replication/operation/refusals.ts'

// Tests the text of each refusal of replication: what is wrong, and what to do next. Scripts and runbooks
// quote these texts.

const rows: Readonly<Record<string, readonly [refusal: ApiError, code: ApiError['code'], text: string]>> = {
  ownAddressUnknownError: [
    role.ownAddressUnknownError(),
    'invalid_request',
    'the address of this cluster is unknown; give primary_cluster_addr to sys/replication/dr/primary/enable, or set apiAddress',
  ],
  invalidAddressError: [
    role.invalidAddressError('primary_api_addr'),
    'invalid_request',
    'primary_api_addr must be an https address, such as https://east.example.com; give only scheme, host and port; http, and addresses of this machine or its network, are allowed only on the embedded host',
  ],
  addressesNeedLinkError: [
    role.addressesNeedLinkError(),
    'invalid_request',
    'this cluster has no credentials for a primary, so it cannot use update_primary_addrs; use a token that the primary makes by POST sys/replication/dr/primary/secondary-token',
  ],
  alreadyPrimaryError: [
    role.alreadyPrimaryError(),
    'invalid_request',
    'this cluster is a DR primary already; give another primary_cluster_addr to change only the address, or make tokens for its secondaries by POST sys/replication/dr/primary/secondary-token',
  ],
  unknownCaFileError: [
    role.unknownCaFileError('ca_file', 'x.pem', ['a.pem']),
    'invalid_request',
    'ca_file "x.pem" names no certificate file of this deployment, which has: a.pem; name a file or folder relative to the folder in the setting caBundles, or give the certificates as ca_cert',
  ],
  caTooLargeError: [
    role.caTooLargeError(),
    'invalid_request',
    'the certificates of authorities are larger than 32 KiB; give only the authorities of the primary’s certificate',
  ],
  invalidCaError: [
    role.invalidCaError(),
    'invalid_request',
    'ca_cert, ca_file and ca_path must contain nothing but PEM certificates of authorities; leave the three fields out if a public authority issued the certificate of the primary',
  ],
  becomingSecondaryError: [
    role.becomingSecondaryError({}),
    'busy',
    'this cluster is becoming a DR secondary and serves no clients; repeat the request when GET sys/health answers 472',
  ],
  checkStartConflictError: [
    role.checkStartConflictError(),
    'busy',
    'other checks are being started at the same time; repeat the request, which then waits for the running check',
  ],
  diffNeedsPrimaryError: [
    role.diffNeedsPrimaryError(),
    'invalid_request',
    'diff compares a secondary with its primary, and this cluster follows no primary; leave it out',
  ],
  tokenOfDifferentSetError: [
    role.tokenOfDifferentSetError(),
    'invalid_request',
    'token is of a different replication set; make a token on the primary of this cluster’s set, whose cluster_id GET sys/replication/dr/status shows; a cluster of another set has to be emptied by secondary/disable and secondary/enable',
  ],
  operationFailedError: [
    role.operationFailedError({ code: 'internal', text: 'what is wrong; what to do next' }),
    'busy',
    'what is wrong; what to do next',
  ],
  secondaryIdTakenError: [
    role.secondaryIdTakenError('us-west'),
    'invalid_request',
    'the secondary us-west exists already, even if no cluster has used its token; send replace=true to end that admission, or choose another id',
  ],
  invalidSecondaryIdError: [
    role.invalidSecondaryIdError(),
    'invalid_request',
    'id must have at most 128 letters, digits, "_", "-" or ".", and begin and end with a letter, a digit or "_"; choose another name for the secondary',
  ],
  journalBusyError: [
    journal.journalBusyError(),
    'busy',
    'the journal is still being written; repeat the request: completed steps are kept',
  ],
  invalidTokenTtlError: [
    role.invalidTokenTtlError(),
    'invalid_request',
    'ttl must be longer than 0 seconds, and 24 hours at most; leave ttl out for a ttl of 30 minutes',
  ],
  addressCountError: [
    role.addressCountError(),
    'invalid_request',
    'update_primary_addrs must have 1 to 16 addresses; list the addresses of the primary in the order of the attempts',
  ],
  noOwnJournalError: [
    journal.noOwnJournalError(),
    'busy',
    'this cluster does not write a journal of its own; repeat the request when GET sys/replication/dr/status shows no role change',
  ],
  noPublicKeyOfPrimaryError: [
    role.noPublicKeyOfPrimaryError(),
    'invalid_request',
    'this cluster is a DR primary; its keys were made when it became a primary; send this request to the cluster that becomes a secondary',
  ],
  noTreeError: [
    role.noTreeError('disabled'),
    'invalid_request',
    'this cluster keeps no tree: its mode is disabled; only a DR primary or a DR secondary has a tree',
  ],
  updateMissingError: [
    role.updateMissingError(),
    'invalid_request',
    'neither token nor update_primary_addrs is given; give the token that the other primary has made, or "" to follow no primary',
  ],
  noClusterToRevokeError: [
    role.noClusterToRevokeError('wset', ['west (c-2)', 'c-3']),
    'invalid_request',
    'id: no cluster of this name or id ("wset"); nothing was revoked; these clusters hold keys: west (c-2), c-3; to revoke a cluster that this cluster does not know, give its UUID with force=true',
  ],
  notAPrimaryError: [
    role.notAPrimaryError('disabled'),
    'invalid_request',
    'not a DR primary: the mode of this cluster is disabled; POST sys/replication/dr/primary/enable makes a DR primary of a cluster without replication',
  ],
  notASecondaryError: [
    role.notASecondaryError('primary'),
    'invalid_request',
    'not a DR secondary: the mode of this cluster is primary; send this request to a secondary: GET sys/replication/dr/status shows the mode of a cluster',
  ],
  notInASetError: [
    role.notInASetError(),
    'invalid_request',
    'this cluster is in no DR set, so this cluster has no link to other clusters; send this request to a secondary: GET sys/replication/dr/status shows the mode of a cluster',
  ],
  parameterNeedsTokenError: [
    role.parameterNeedsTokenError('ca_cert'),
    'invalid_request',
    'ca_cert is only allowed with a token; leave it out',
  ],
  operationRunningError: [
    role.operationRunningError('promotion', 'o-1', 'verify', { position: '000001.a/7', waits: false }),
    'busy',
    'the operation o-1 (promotion) is still running, at the step verify, at position 000001.a/7; GET sys/replication/dr/status shows the progress of the operation',
  ],
  selfRevocationError: [
    role.selfRevocationError('east'),
    'invalid_request',
    'id: "east" is this cluster itself; nothing was revoked; give the name or the UUID of another cluster: GET sys/replication/dr/status lists the clusters under terms as given_to',
  ],
  primaryCannotJoinError: [
    role.primaryCannotJoinError(),
    'invalid_request',
    'this cluster is a DR primary; if the data of this cluster may be lost, end its set by POST sys/replication/dr/primary/disable first',
  ],
  invalidPublicKeyError: [
    role.invalidPublicKeyError(),
    'invalid_request',
    'secondary_public_key is not a public key of a cluster; copy the whole key from POST sys/replication/dr/secondary/generate-public-key on the secondary',
  ],
  clusterRecordBusyError: [
    journal.clusterRecordBusyError(),
    'busy',
    'the cluster record is being changed; repeat the request: completed steps are kept',
  ],
  reindexRunningError: [
    role.reindexRunningError(),
    'invalid_request',
    'a reindex is already running; GET sys/replication/dr/status shows the progress of the running reindex',
  ],
  restoredPrimaryCopyError: [
    role.restoredPrimaryCopyError({}),
    'busy',
    'the tables of this cluster are a restored copy of a DR primary’s tables, so this cluster serves no clients as a primary; within a minute this cluster becomes a DR secondary without a primary; POST sys/replication/dr/secondary/disable then makes this cluster an ordinary cluster',
  ],
  roleChangingError: [
    role.roleChangingError(),
    'busy',
    'another role change of this cluster is under way; repeat the request when GET sys/replication/dr/status shows that the role change has ended',
  ],
  roleChangedError: [
    journal.roleChangedError(),
    'busy',
    'the role of this cluster changed while its tree was being read; repeat the request: the next call reads the tree of the new role',
  ],
  secondariesChangingError: [
    role.secondariesChangingError(),
    'busy',
    'the secondaries of this cluster are being changed; repeat the request: nothing is revoked twice',
  ],
  ambiguousRevocationError: [
    role.ambiguousRevocationError('west', [
      'c-2 (admitted under that name)',
      'c-3 (the cluster with that name or id)',
    ]),
    'invalid_request',
    'id: "west" denotes c-2 (admitted under that name), c-3 (the cluster with that name or id); nothing was revoked; give the UUID of the cluster that is to be revoked; secondary-token with replace=true ends an admission by its name',
  ],
  treeAheadError: [
    journal.treeAheadError(),
    'busy',
    'the Merkle tree is ahead of the journal; repeat the request in a moment',
  ],
  treeIncompleteError: [
    journal.treeIncompleteError(),
    'busy',
    'the Merkle tree is being filled; repeat the request when GET sys/replication/dr/status shows that the tree is filled',
  ],
  activationTokenExpiredError: [
    role.activationTokenExpiredError(),
    'invalid_request',
    'token has expired; make another token on the primary by POST sys/replication/dr/primary/secondary-token with replace=true',
  ],
  unusableTokenError: [
    role.unusableTokenError(),
    'invalid_request',
    'token is not an activation token for this cluster; make a token on the primary by POST sys/replication/dr/primary/secondary-token; a token for a public key needs the newest public key of this cluster',
  ],
  treeNotBuiltError: [
    role.treeNotBuiltError(),
    'busy',
    'the tree is being built; repeat the request when GET sys/replication/dr/status no longer shows reindex_in_progress',
  ],
  updateAmbiguousError: [
    role.updateAmbiguousError(),
    'invalid_request',
    'both token and update_primary_addrs are given; give the token of another primary, or addresses of the present primary',
  ],
  attemptInProgressError: [
    token.attemptInProgressError('operation'),
    'invalid_request',
    'generation of a DR operation token already in progress; continue the running attempt, or cancel it by DELETE sys/replication/dr/secondary/generate-operation-token/attempt',
  ],
  unknownTermError: [
    token.unknownTermError(),
    'unknown_term',
    'permission denied: no key of this cluster decrypts this batch token: the token is from another DR set, or was made after a keyring rotation that this cluster has not fetched yet; make an operation token on this cluster from recovery shares, by POST sys/replication/dr/secondary/generate-operation-token/attempt',
  ],
  batchTokenNotRevocableError: [
    token.batchTokenNotRevocableError(),
    'invalid_request',
    'a batch token cannot be revoked; the batch token expires by its ttl; to end the token earlier, remove `update` on this path from its policies on the primary',
  ],
  invalidMaskedTokenError: [
    token.invalidMaskedTokenError(),
    'invalid_request',
    'encoded_token and otp do not match; encoded_token must be unpadded base64 that decodes to as many bytes as otp has: send both values as they were returned',
  ],
  noAttemptError: [
    token.noAttemptError('root'),
    'invalid_request',
    'no root generation in progress; start an attempt by POST sys/generate-root/attempt',
  ],
  wrongNonceError: [
    token.wrongNonceError('operation', 'n-1'),
    'invalid_request',
    'incorrect nonce supplied; nonce for this generation of a DR operation token operation is "n-1"',
  ],
  otherAttemptError: [
    token.otherAttemptError('root'),
    'invalid_request',
    'an attempt of another kind is in progress; cancel the running attempt by DELETE sys/generate-root/attempt',
  ],
  otpLengthError: [
    token.otpLengthError(),
    'invalid_request',
    'otp must have 33 bytes, as many as the token that it masks; omit otp to get a generated one-time password',
  ],
  anonymousCancelError: [
    token.anonymousCancelError('root'),
    'permission_denied',
    'an attempt that has received a share, or was started with a token, cannot be cancelled without a token; send a token whose policies allow `delete` on sys/generate-root/attempt, or wait: the attempt expires after an hour without a share',
  ],
  unknownShareError: [
    token.unknownShareError(),
    'invalid_request',
    'given key is not a recovery share of this cluster; the attempt is unchanged; submit one of the most recently issued shares',
  ],
  duplicateShareError: [
    token.duplicateShareError(),
    'invalid_request',
    'given key has already been provided during this generation operation; submit another share',
  ],
  tooManyAttemptsError: [
    token.tooManyAttemptsError(51),
    'too_many_requests',
    'too many attempts; try again later',
  ],
  operationTokenMissingError: [
    token.operationTokenMissingError(),
    'invalid_request',
    'dr_operation_token is required; generate a token from recovery shares by POST sys/replication/dr/secondary/generate-operation-token/attempt, or give a batch token that was made on the primary and whose policies allow `update` on this path',
  ],
  operationTokenTypeError: [
    token.operationTokenTypeError(),
    'invalid_request',
    'dr_operation_token is not a string; give the token as a JSON string',
  ],
}

test('every refusal of an operation is in this table', () => {
  expect(Object.keys(rows).sort()).toEqual(
    [...Object.keys(role), ...Object.keys(token), ...Object.keys(journal)].sort(),
  )
})

test.each(Object.entries(rows))(
  'the text of the refusal %s says what is wrong, and what to do next',
  (_, [refusal, code, text]) => {
    expect([refusal.code, refusal.message]).toEqual([code, text])
    expect(text).toMatch(/; ./)
  },
)
