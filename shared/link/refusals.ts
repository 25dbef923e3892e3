import { MAX_EPOCH_LEAD } from '../journal/position.ts'
import { type DeclareError, declareError } from '../values/declare-error.ts'
import { formatTime } from '../values/time.ts'
import type { LinkMethod } from '../wire/carry.ts'
import { LINK_FORMAT, LinkRefused } from './source.ts'

/*
 * Refusals that clusters of a set send each other, one row for each. Each refusal text says what is wrong and what
 * to do next. The operator of the calling cluster reads the refusal in an answer, a status or a log. Only the
 * refusal `unavailable` may pass by itself.
 * @see docs/spec/replication.md#refusals
 */

/** Declares a refusal with a code. */
const invalidArgument: DeclareError<LinkRefused> = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new LinkRefused('invalid_argument', message), wrong, next)
const failedPrecondition: typeof invalidArgument = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new LinkRefused('failed_precondition', message), wrong, next)
const unauthenticated: typeof invalidArgument = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new LinkRefused('unauthenticated', message), wrong, next)
const permissionDenied: typeof invalidArgument = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new LinkRefused('permission_denied', message), wrong, next)
const unavailable: typeof invalidArgument = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new LinkRefused('unavailable', message), wrong, next)

const NEW_TOKEN =
  'give the calling cluster a new activation token by POST sys/replication/dr/secondary/update-primary'
const MAKE_ANOTHER =
  'make an activation token on the primary by POST sys/replication/dr/primary/secondary-token'
const FIND_PRIMARY =
  'find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary'
const END_THIS_ONE =
  'if the other cluster should be the primary, demote this cluster by POST sys/replication/dr/primary/demote'
const FAULTY = 'check that the caller is a cluster of this product, and upgrade it'

// refusals of every call

export const notALinkCallError = invalidArgument(
  'the request is not a call of the replication link between clusters',
  FAULTY,
)

/** @param why the part that could not be read */
export const callBodyUnreadableError = invalidArgument(
  (method: LinkMethod, why: string) => `the body of ${method} cannot be read: ${why}`,
  FAULTY,
)

export const clusterUninitialisedError = failedPrecondition(
  'this cluster is not initialised',
  'check that the address is that of the primary',
)

export const restoredCopyError = failedPrecondition(
  'this cluster is a restored copy: its journal is not the journal of the set',
  FIND_PRIMARY,
)

export const notInSetError = failedPrecondition(
  'this cluster is in no DR set',
  'check that the address is that of the primary',
)

export const otherSetError = failedPrecondition(
  'this cluster belongs to another DR set',
  'check that the address is that of the primary',
)

/** @param skew milliseconds by which the caller's clock is ahead; `most`: that are allowed; `now`: epoch milliseconds here */
export const clockSkewError = failedPrecondition(
  (skew: number, most: number, now: number) =>
    `the caller's clock is ${Math.round(Math.abs(skew) / 1000)} s ${skew > 0 ? 'ahead of' : 'behind'} this cluster's, which shows ${formatTime(now)}: at most ${most / 1000} s are allowed`,
  'set the clocks right',
)

/** Two processes of one cluster may overtake each other. The refused process only has to call again. */
export const replayedCallError = unavailable(
  'this cluster already received a call with this timestamp or a later one: the new call counts as a replay',
  'make a new call',
)

export const concurrentCallsError = unavailable(
  'two calls to this cluster are under way at the same time',
  'repeat the call',
)

export const internalLinkError = unavailable(
  'internal error',
  'see the logs of the cluster that received the call',
)

/** Wraps a `busy` error, whose text already says what to do next. */
export const linkBusyError = (cause: Error) => new LinkRefused('unavailable', cause.message)

// refusals of a call by a secondary

export const unknownCallerError = unauthenticated(
  'the call is not signed by the key of a secondary that was admitted here',
  NEW_TOKEN,
)

export const callerRevokedError = permissionDenied((name: string) => `${name} was revoked`, NEW_TOKEN)

export const callerOfEarlierEpochError = permissionDenied(
  (name: string) => `${name} was admitted before this cluster became primary again`,
  NEW_TOKEN,
)

export const notThePrimaryError = failedPrecondition(
  (mode: string) => `this cluster is not a primary: its mode is ${mode}`,
  FIND_PRIMARY,
)

export const noPrimaryJournalError = failedPrecondition(
  'this cluster is not a primary: it writes no journal of its own',
  FIND_PRIMARY,
)

/** @param seen epoch that the caller has seen; `own`: epoch that this cluster writes */
export const laterEpochSeenError = failedPrecondition(
  (seen: string, own: string) =>
    `the caller has seen epoch ${seen}, but this cluster writes epoch ${own}: another cluster became primary after this cluster`,
  FIND_PRIMARY,
)

export const lineageChangedError = failedPrecondition(
  'the lineage of the journal has changed since the last heartbeat',
  'repeat the request with the lineage from the next heartbeat',
)

export const lineageChangingError = unavailable(
  'the lineage of the journal changed while it was being read',
  'repeat the call',
)

export const unknownTreePageError = invalidArgument(
  'the requested page of the tree does not exist',
  'name a page such as r#0a, or a bucket such as r#0a/00',
)

export const termNotYetAddedError = unavailable(
  (term: number) => `the keyring has no term ${term} yet`,
  'repeat the request in a moment',
)

/** @param format that the secondary supports */
export const secondaryTooOldError = failedPrecondition(
  (format: number) =>
    `this cluster uses link format ${LINK_FORMAT}, but the secondary supports at most ${format}`,
  'upgrade the secondary first; the secondary keeps its data',
)

/**
 * The refusal by a secondary of a primary that it cannot follow.
 * @param format that the primary uses
 */
export const primaryTooNewError = failedPrecondition(
  (format: number) =>
    `the primary uses link format ${format}, but this version supports at most ${LINK_FORMAT}`,
  'upgrade the secondaries first',
)

// refusals to a cluster that hands in an activation token, or fences

export const callerUnnamedError = invalidArgument(
  'the call does not name the calling cluster and its keys',
  FAULTY,
)

export const callSignatureError = unauthenticated(
  'the call is not signed by the key that it names',
  'find out what changes the calls on their way to this cluster',
)

export const callerAddressError = invalidArgument(
  'the cluster that hands in the token gives an address at which no cluster can be reached',
  'give that cluster an https address with scheme, host and port; the address must not be local to its machine or network',
)

/** Whoever carried the request may have read the token. */
export const tokenUnsealedError = invalidArgument(
  'the token was sent without encryption: others may have read it',
  MAKE_ANOTHER,
)

export const sealedToOtherKeyError = unauthenticated(
  'the request is not encrypted to the key of this cluster, for this DR set',
  MAKE_ANOTHER,
)

export const activationProofError = unauthenticated(
  'the proof over token, cluster and keys was not signed with the key that the call names',
  'find out what changes the calls on their way to this cluster',
)

/** @param cluster the cluster's UUID; `name`: the cluster's name on this cluster */
export const clusterAdmittedError = permissionDenied(
  (cluster: string, name: string) => `${cluster} is admitted here as ${name}, with other keys`,
  (_cluster, name) =>
    `if ${name} has lost its keys, revoke ${name} by POST sys/replication/dr/primary/revoke-secondary {"id": "${name}"}, then make another activation token`,
)

export const selfSecondaryError = failedPrecondition(
  'a cluster cannot be its own secondary',
  'give the token to another cluster',
)

/** The successor admits the caller once the successor is the primary. */
export const handoverInProgressError = unavailable(
  'this cluster is handing over to another cluster',
  FIND_PRIMARY,
)

export const journalIncompleteError = unavailable(
  (percent: number) => `the journal is ${percent} % built`,
  'repeat the request with the same token when the journal is complete',
)

export const notAnActivationTokenError = invalidArgument('the token is not an activation token', MAKE_ANOTHER)

export const tokenOfOtherSetError = failedPrecondition('the token is of another DR set', MAKE_ANOTHER)

export const tokenOfOtherClusterError = unauthenticated(
  'the token was not made by this cluster',
  MAKE_ANOTHER,
)

/** @param at epoch milliseconds */
export const tokenExpiredError = permissionDenied(
  (at: number) => `the token expired at ${formatTime(at)}`,
  MAKE_ANOTHER,
)

export const tokenOfEarlierEpochError = permissionDenied(
  'the token was made before this cluster became primary again',
  MAKE_ANOTHER,
)

export const tokenRevokedError = permissionDenied('the token was revoked', MAKE_ANOTHER)

export const tokenBeforeRevocationError = permissionDenied(
  'the token was made before the calling cluster was revoked',
  MAKE_ANOTHER,
)

export const tokenUsedError = permissionDenied('the token has been used', MAKE_ANOTHER)

export const tokenForOtherKeysError = permissionDenied(
  'the token was made for other keys than those of this secondary',
  MAKE_ANOTHER,
)

export const tokenInUseError = unavailable(
  'another request was using or revoking the token at the same time',
  'repeat the call',
)

// refusals of a handover

/** @param own epoch that this cluster writes, or wrote last */
export const otherEpochError = failedPrecondition(
  (own: string, asked: string) => `this cluster writes epoch ${own}, not epoch ${asked}`,
  'repeat the request after the next heartbeat of the secondary',
)

export const noLongerPrimaryError = failedPrecondition('this cluster is no longer the primary', FIND_PRIMARY)

/** @param successor UUID of a cluster */
export const handedOverError = failedPrecondition(
  (successor: string) => `this cluster has handed its role over to ${successor}`,
  'another cluster can be promoted by force only',
)

// Texts with `END_THIS_ONE` come from a cluster that refuses to be fenced.

/** @param own epoch that this cluster writes */
export const staleFenceError = failedPrecondition(
  (own: string, claimed: string) => `this cluster writes epoch ${own}, which is later than epoch ${claimed}`,
  END_THIS_ONE,
)

export const selfFenceError = failedPrecondition(
  'a cluster does not fence itself',
  'nothing needs to be done: the address is the caller’s own',
)

export const epochOfOtherClusterError = invalidArgument(
  (epoch: string, cluster: string) => `${epoch} is not an epoch of ${cluster}`,
  FAULTY,
)

/** @param own epoch that this cluster writes */
export const epochTooHighError = invalidArgument(
  (epoch: string, own: string) =>
    `${epoch} is more than ${MAX_EPOCH_LEAD} epochs above ${own}: take-overs cannot have led there`,
  'revoke the caller by POST sys/replication/dr/primary/revoke-secondary',
)

/** @param cluster UUID of the claimant */
export const claimantRevokedError = permissionDenied(
  (cluster: string) => `${cluster} was revoked here`,
  END_THIS_ONE,
)

/**
 * The call was replayed, or was delayed for long.
 * @param cluster UUID of the claimant
 */
export const takeOverGivenUpError = failedPrecondition(
  (epoch: string, cluster: string) =>
    `${cluster} has followed this cluster since it claimed epoch ${epoch}, and so has given up that epoch`,
  END_THIS_ONE,
)

export const lineageRevokedError = permissionDenied(
  (epoch: string) => `epoch ${epoch} belongs to a cluster that was revoked here`,
  END_THIS_ONE,
)

/** @param cluster UUID of the claimant */
export const unknownClaimantError = permissionDenied(
  (cluster: string) =>
    `no chain of signed statements, beginning at a cluster known here, confirms the key of ${cluster}`,
  END_THIS_ONE,
)

// refusals of a notice of new entries

export const followsNoPrimaryError = failedPrecondition(
  'this cluster follows no primary',
  'make this cluster follow a primary by POST sys/replication/dr/secondary/update-primary',
)

export const noticeUnsignedError = unauthenticated(
  'the notice is not signed by the key of the primary that this cluster follows',
  'if the caller is the primary, have this cluster follow it by POST sys/replication/dr/secondary/update-primary',
)
