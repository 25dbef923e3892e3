import { MAX_EPOCH_LEAD } from '../journal/position.ts'
import { formatTime } from '../values/time.ts'
import type { LinkMethod } from '../wire/carry.ts'
import { LINK_FORMAT, LinkRefused, type RefusalCode } from './source.ts'

/*
 * Refusals that clusters of a set send each other, one row for each. Each text says what is wrong and what to do
 * next. The operator of the calling cluster reads it in an answer, a status or a log. Only `unavailable` may pass by
 * itself.
 * @see docs/spec/replication.md#refusals
 */

const refused = (code: RefusalCode, wrong: string, next: string): LinkRefused =>
  new LinkRefused(code, `${wrong}; ${next}`)

const NEW_TOKEN = 'give it a new activation token by POST sys/replication/dr/secondary/update-primary'
const MAKE_ANOTHER = 'make one on the primary by POST sys/replication/dr/primary/secondary-token'
const FIND_PRIMARY =
  'find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary'
const END_THIS_ONE =
  'if the other cluster should be the primary, end this one with POST sys/replication/dr/primary/demote'
const FAULTY = 'check that the caller is a cluster of this product, and upgrade it'

// of every call

export const notALinkCallError = () => refused('invalid_argument', 'this is not a call of the link', FAULTY)

/** @param why what could not be read */
export const callBodyUnreadableError = (method: LinkMethod, why: string) =>
  refused('invalid_argument', `the body of ${method} cannot be read: ${why}`, FAULTY)

export const clusterUninitialisedError = () =>
  refused(
    'failed_precondition',
    'this cluster is not initialised',
    'check that the address is that of the primary',
  )

export const restoredCopyError = () =>
  refused(
    'failed_precondition',
    "this is a restored copy of a cluster: its journal is not the set's",
    FIND_PRIMARY,
  )

export const notInSetError = () =>
  refused(
    'failed_precondition',
    'this cluster is in no DR set',
    'check that the address is that of the primary',
  )

export const otherSetError = () =>
  refused(
    'failed_precondition',
    'this cluster belongs to another DR set',
    'check that the address is that of the primary',
  )

/** @param skew milliseconds by which the caller's clock is ahead; `most`: that are allowed; `now`: epoch milliseconds here */
export const clockSkewError = (skew: number, most: number, now: number) => {
  const side = skew > 0 ? 'ahead of' : 'behind'
  return refused(
    'failed_precondition',
    `the caller's clock is ${Math.round(Math.abs(skew) / 1000)} s ${side} this cluster's, which shows ${formatTime(now)}: at most ${most / 1000} s are allowed`,
    'set the clocks right',
  )
}

/** Two processes of one cluster may overtake each other. The refused one only has to call again. */
export const replayedCallError = () =>
  refused(
    'unavailable',
    'this cluster has seen a call of this time or a later one: this one is a replay',
    'make a new call',
  )

export const concurrentCallsError = () =>
  refused('unavailable', 'two calls of this cluster are under way at once', 'repeat it')

export const internalLinkError = () =>
  refused('unavailable', 'internal error', 'see the logs of the cluster that was asked')

/** Wraps a `busy` error, whose text already says what to do next. */
export const linkBusyError = (cause: Error) => new LinkRefused('unavailable', cause.message)

// of a call by a secondary

export const unknownCallerError = () =>
  refused(
    'unauthenticated',
    'the call is not signed by the key of a secondary that was admitted here',
    NEW_TOKEN,
  )

export const callerRevokedError = (name: string) =>
  refused('permission_denied', `${name} was revoked`, NEW_TOKEN)

export const callerOfEarlierEpochError = (name: string) =>
  refused('permission_denied', `${name} was admitted before this cluster became primary again`, NEW_TOKEN)

export const notThePrimaryError = (mode: string) =>
  refused('failed_precondition', `this cluster is not a primary: its mode is ${mode}`, FIND_PRIMARY)

export const noPrimaryJournalError = () =>
  refused(
    'failed_precondition',
    'this cluster is not a primary: it writes no journal of its own',
    FIND_PRIMARY,
  )

/** @param seen by the caller; `own`: that this cluster writes */
export const laterEpochSeenError = (seen: string, own: string) =>
  refused(
    'failed_precondition',
    `the caller has seen epoch ${seen}, this cluster writes ${own}: another primary came after it`,
    FIND_PRIMARY,
  )

export const lineageChangedError = () =>
  refused(
    'failed_precondition',
    'the lineage of the journal has changed since the last heartbeat',
    'start again with the lineage that the next heartbeat brings',
  )

export const lineageChangingError = () =>
  refused('unavailable', 'the lineage of the journal changed while it was being read', 'repeat it')

export const unknownTreePageError = () =>
  refused(
    'invalid_argument',
    'no such page of the tree',
    'name one such as r#0a, or a bucket such as r#0a/00',
  )

export const termNotYetAddedError = (term: number) =>
  refused('unavailable', `the keyring has no term ${term} yet`, 'repeat it in a moment')

/** @param format that the secondary supports */
export const secondaryTooOldError = (format: number) =>
  refused(
    'failed_precondition',
    `this cluster speaks format ${LINK_FORMAT}, the secondary ${format} at most`,
    'upgrade the secondary first; it keeps its data',
  )

/**
 * The refusal by a secondary of a primary that it cannot follow.
 * @param format that the primary uses
 */
export const primaryTooNewError = (format: number) =>
  refused(
    'failed_precondition',
    `the primary speaks format ${format}, this version ${LINK_FORMAT} at most`,
    'upgrade the secondaries first',
  )

// refusals to a cluster that hands in an activation token, or fences

export const callerUnnamedError = () =>
  refused('invalid_argument', 'the call does not name a cluster with its keys', FAULTY)

export const callSignatureError = () =>
  refused(
    'unauthenticated',
    'the call is not signed by the key that it names',
    'find out what changes calls on their way here',
  )

export const callerAddressError = () =>
  refused(
    'invalid_argument',
    'the cluster that hands in the token gives an address at which no cluster can be reached',
    'give that cluster an https address of scheme, host and port, and none of its own machine or network',
  )

/** Whoever carried the request may have read the token. */
export const tokenUnsealedError = () =>
  refused('invalid_argument', 'the token is handed in unsealed: others may have read it', MAKE_ANOTHER)

export const sealedToOtherKeyError = () =>
  refused(
    'unauthenticated',
    'the request is not sealed to the key of this cluster, for this set',
    MAKE_ANOTHER,
  )

export const activationProofError = () =>
  refused(
    'unauthenticated',
    'the proof of token, cluster and keys is not signed by the key that the call names',
    'find out what changes calls on their way here',
  )

/** @param cluster its UUID; `name`: that it has here */
export const clusterAdmittedError = (cluster: string, name: string) =>
  refused(
    'permission_denied',
    `${cluster} is admitted here as ${name}, with other keys`,
    `if ${name} has lost its keys, revoke ${name} by POST sys/replication/dr/primary/revoke-secondary {"id": "${name}"}, then make another activation token`,
  )

export const selfSecondaryError = () =>
  refused('failed_precondition', 'a cluster cannot be its own secondary', 'give the token to another cluster')

/** The successor admits the caller once it is the primary. */
export const handoverInProgressError = () =>
  refused('unavailable', 'this cluster is handing over to another one', FIND_PRIMARY)

export const journalIncompleteError = (percent: number) =>
  refused(
    'unavailable',
    `the journal is ${percent} % built`,
    'repeat this with the same token when it is complete',
  )

export const notAnActivationTokenError = () =>
  refused('invalid_argument', 'this is not an activation token', MAKE_ANOTHER)

export const tokenOfOtherSetError = () =>
  refused('failed_precondition', 'the token is of another DR set', MAKE_ANOTHER)

export const tokenOfOtherClusterError = () =>
  refused('unauthenticated', 'the token was not made by this cluster', MAKE_ANOTHER)

/** @param at epoch milliseconds */
export const tokenExpiredError = (at: number) =>
  refused('permission_denied', `the token expired at ${formatTime(at)}`, MAKE_ANOTHER)

export const tokenOfEarlierEpochError = () =>
  refused('permission_denied', 'the token was made before this cluster became primary again', MAKE_ANOTHER)

export const tokenRevokedError = () => refused('permission_denied', 'the token was revoked', MAKE_ANOTHER)

export const tokenBeforeRevocationError = () =>
  refused('permission_denied', 'the token was made before this cluster was revoked', MAKE_ANOTHER)

export const tokenUsedError = () => refused('permission_denied', 'the token has been used', MAKE_ANOTHER)

export const tokenForOtherKeysError = () =>
  refused('permission_denied', 'the token was made for other keys than those of this secondary', MAKE_ANOTHER)

export const tokenInUseError = () =>
  refused('unavailable', 'the token was being used or revoked at this very moment', 'repeat it')

// of a handover

/** @param own that this cluster writes, or wrote last */
export const otherEpochError = (own: string, asked: string) =>
  refused(
    'failed_precondition',
    `this cluster writes ${own}, not ${asked}`,
    'repeat this after the next heartbeat of the secondary',
  )

export const noLongerPrimaryError = () =>
  refused('failed_precondition', 'this cluster is no longer the primary', FIND_PRIMARY)

/** @param successor UUID of a cluster */
export const handedOverError = (successor: string) =>
  refused(
    'failed_precondition',
    `this cluster has handed its role over to ${successor}`,
    'another cluster can be promoted by force only',
  )

// Texts with `END_THIS_ONE` come from a cluster that refuses to be fenced.

/** @param own that this cluster writes */
export const staleFenceError = (own: string, claimed: string) =>
  refused('failed_precondition', `this cluster writes ${own}, which is later than ${claimed}`, END_THIS_ONE)

export const selfFenceError = () =>
  refused(
    'failed_precondition',
    'a cluster does not fence itself',
    'nothing needs to be done: the address is the caller’s own',
  )

export const epochOfOtherClusterError = (epoch: string, cluster: string) =>
  refused('invalid_argument', `${epoch} is not an epoch of ${cluster}`, FAULTY)

/** @param own that this cluster writes */
export const epochTooHighError = (epoch: string, own: string) =>
  refused(
    'invalid_argument',
    `${epoch} is more than ${MAX_EPOCH_LEAD} epochs above ${own}: take-overs cannot have led there`,
    'revoke the caller by POST sys/replication/dr/primary/revoke-secondary',
  )

/** @param cluster UUID of the claimant */
export const claimantRevokedError = (cluster: string) =>
  refused('permission_denied', `${cluster} was revoked here`, END_THIS_ONE)

/**
 * The call was replayed, or was delayed for long.
 * @param cluster UUID of the claimant
 */
export const takeOverGivenUpError = (epoch: string, cluster: string) =>
  refused(
    'failed_precondition',
    `${cluster} has followed this cluster since it claimed epoch ${epoch}, and so has given it up`,
    END_THIS_ONE,
  )

export const lineageRevokedError = (epoch: string) =>
  refused('permission_denied', `epoch ${epoch} belongs to a cluster that was revoked here`, END_THIS_ONE)

/** @param cluster UUID of the claimant */
export const unknownClaimantError = (cluster: string) =>
  refused(
    'permission_denied',
    `no chain of statements leads from a cluster that is known here to the key of ${cluster}`,
    END_THIS_ONE,
  )

// of a notice

export const followsNoPrimaryError = () =>
  refused(
    'failed_precondition',
    'this cluster follows no primary',
    'have it follow one by POST sys/replication/dr/secondary/update-primary',
  )

export const noticeUnsignedError = () =>
  refused(
    'unauthenticated',
    'the notice is not signed by the key of the primary that this cluster follows',
    'if the caller is the primary, have this cluster follow it by POST sys/replication/dr/secondary/update-primary',
  )
