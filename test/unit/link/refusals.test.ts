import { expect, test } from 'vitest'
import * as link from '../../../shared/link/refusals.ts'
import type { LinkRefused, RefusalCode } from '../../../shared/link/source.ts'

// Tests the text of each refusal of the link: what is wrong, and what to do next. `serve/refusals.test.ts`
// tests when each refusal is sent.

const rows: Readonly<Record<string, readonly [refusal: LinkRefused, code: RefusalCode, text: string]>> = {
  callBodyUnreadableError: [
    link.callBodyUnreadableError('Heartbeat', 'a number is too large'),
    'invalid_argument',
    'the body of Heartbeat cannot be read: a number is too large; check that the caller is a cluster of this product, and upgrade it',
  ],
  internalLinkError: [
    link.internalLinkError(),
    'unavailable',
    'internal error; see the logs of the cluster that received the call',
  ],
  linkBusyError: [
    link.linkBusyError(new Error('the tree is being built; repeat this')),
    'unavailable',
    'the tree is being built; repeat this',
  ],
  replayedCallError: [
    link.replayedCallError(),
    'unavailable',
    'this cluster already received a call with this timestamp or a later one: the new call counts as a replay; make a new call',
  ],
  callerOfEarlierEpochError: [
    link.callerOfEarlierEpochError('west'),
    'permission_denied',
    'west was admitted before this cluster became primary again; give the calling cluster a new activation token by POST sys/replication/dr/secondary/update-primary',
  ],
  callerRevokedError: [
    link.callerRevokedError('west'),
    'permission_denied',
    'west was revoked; give the calling cluster a new activation token by POST sys/replication/dr/secondary/update-primary',
  ],
  unknownCallerError: [
    link.unknownCallerError(),
    'unauthenticated',
    'the call is not signed by the key of a secondary that was admitted here; give the calling cluster a new activation token by POST sys/replication/dr/secondary/update-primary',
  ],
  callerUnnamedError: [
    link.callerUnnamedError(),
    'invalid_argument',
    'the call does not name the calling cluster and its keys; check that the caller is a cluster of this product, and upgrade it',
  ],
  concurrentCallsError: [
    link.concurrentCallsError(),
    'unavailable',
    'two calls to this cluster are under way at the same time; repeat the call',
  ],
  claimantRevokedError: [
    link.claimantRevokedError('a cluster'),
    'permission_denied',
    'a cluster was revoked here; if the other cluster should be the primary, demote this cluster by POST sys/replication/dr/primary/demote',
  ],
  takeOverGivenUpError: [
    link.takeOverGivenUpError('000002.aaaaaaaaaaaa', 'a cluster'),
    'failed_precondition',
    'a cluster has followed this cluster since it claimed epoch 000002.aaaaaaaaaaaa, and so has given up that epoch; if the other cluster should be the primary, demote this cluster by POST sys/replication/dr/primary/demote',
  ],
  unknownClaimantError: [
    link.unknownClaimantError('a cluster'),
    'permission_denied',
    'no chain of signed statements, beginning at a cluster known here, confirms the key of a cluster; if the other cluster should be the primary, demote this cluster by POST sys/replication/dr/primary/demote',
  ],
  clockSkewError: [
    link.clockSkewError(371_000, 300_000, 1_700_000_000_000),
    'failed_precondition',
    "the caller's clock is 371 s ahead of this cluster's, which shows 2023-11-14T22:13:20Z: at most 300 s are allowed; set the clocks right",
  ],
  otherEpochError: [
    link.otherEpochError('000002.a', '000001.b'),
    'failed_precondition',
    'this cluster writes epoch 000002.a, not epoch 000001.b; repeat the request after the next heartbeat of the secondary',
  ],
  epochOfOtherClusterError: [
    link.epochOfOtherClusterError('000001.b', 'a cluster'),
    'invalid_argument',
    '000001.b is not an epoch of a cluster; check that the caller is a cluster of this product, and upgrade it',
  ],
  staleFenceError: [
    link.staleFenceError('000002.a', '000001.b'),
    'failed_precondition',
    'this cluster writes epoch 000002.a, which is later than epoch 000001.b; if the other cluster should be the primary, demote this cluster by POST sys/replication/dr/primary/demote',
  ],
  selfFenceError: [
    link.selfFenceError(),
    'failed_precondition',
    'a cluster does not fence itself; nothing needs to be done: the address is the caller’s own',
  ],
  followsNoPrimaryError: [
    link.followsNoPrimaryError(),
    'failed_precondition',
    'this cluster follows no primary; make this cluster follow a primary by POST sys/replication/dr/secondary/update-primary',
  ],
  primaryTooNewError: [
    link.primaryTooNewError(7),
    'failed_precondition',
    'the primary uses link format 7, but this version supports at most 1; upgrade the secondaries first',
  ],
  secondaryTooOldError: [
    link.secondaryTooOldError(0),
    'failed_precondition',
    'this cluster uses link format 1, but the secondary supports at most 0; upgrade the secondary first; the secondary keeps its data',
  ],
  handedOverError: [
    link.handedOverError('a cluster'),
    'failed_precondition',
    'this cluster has handed its role over to a cluster; another cluster can be promoted by force only',
  ],
  handoverInProgressError: [
    link.handoverInProgressError(),
    'unavailable',
    'this cluster is handing over to another cluster; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  notInSetError: [
    link.notInSetError(),
    'failed_precondition',
    'this cluster is in no DR set; check that the address is that of the primary',
  ],
  journalIncompleteError: [
    link.journalIncompleteError(33),
    'unavailable',
    'the journal is 33 % built; repeat the request with the same token when the journal is complete',
  ],
  laterEpochSeenError: [
    link.laterEpochSeenError('000002.a', '000001.b'),
    'failed_precondition',
    'the caller has seen epoch 000002.a, but this cluster writes epoch 000001.b: another cluster became primary after this cluster; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  lineageChangedError: [
    link.lineageChangedError(),
    'failed_precondition',
    'the lineage of the journal has changed since the last heartbeat; repeat the request with the lineage from the next heartbeat',
  ],
  lineageChangingError: [
    link.lineageChangingError(),
    'unavailable',
    'the lineage of the journal changed while it was being read; repeat the call',
  ],
  lineageRevokedError: [
    link.lineageRevokedError('000001.b'),
    'permission_denied',
    'epoch 000001.b belongs to a cluster that was revoked here; if the other cluster should be the primary, demote this cluster by POST sys/replication/dr/primary/demote',
  ],
  noPrimaryJournalError: [
    link.noPrimaryJournalError(),
    'failed_precondition',
    'this cluster is not a primary: it writes no journal of its own; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  unknownTreePageError: [
    link.unknownTreePageError(),
    'invalid_argument',
    'the requested page of the tree does not exist; name a page such as r#0a, or a bucket such as r#0a/00',
  ],
  notALinkCallError: [
    link.notALinkCallError(),
    'invalid_argument',
    'the request is not a call of the replication link between clusters; check that the caller is a cluster of this product, and upgrade it',
  ],
  notAnActivationTokenError: [
    link.notAnActivationTokenError(),
    'invalid_argument',
    'the token is not an activation token; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  clusterUninitialisedError: [
    link.clusterUninitialisedError(),
    'failed_precondition',
    'this cluster is not initialised; check that the address is that of the primary',
  ],
  notThePrimaryError: [
    link.notThePrimaryError('secondary'),
    'failed_precondition',
    'this cluster is not a primary: its mode is secondary; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  noticeUnsignedError: [
    link.noticeUnsignedError(),
    'unauthenticated',
    'the notice is not signed by the key of the primary that this cluster follows; if the caller is the primary, have this cluster follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  otherSetError: [
    link.otherSetError(),
    'failed_precondition',
    'this cluster belongs to another DR set; check that the address is that of the primary',
  ],
  callerAddressError: [
    link.callerAddressError(),
    'invalid_argument',
    'the cluster that hands in the token gives an address at which no cluster can be reached; give that cluster an https address with scheme, host and port; the address must not be local to its machine or network',
  ],
  tokenUnsealedError: [
    link.tokenUnsealedError(),
    'invalid_argument',
    'the token was sent without encryption: others may have read it; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  sealedToOtherKeyError: [
    link.sealedToOtherKeyError(),
    'unauthenticated',
    'the request is not encrypted to the key of this cluster, for this DR set; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  activationProofError: [
    link.activationProofError(),
    'unauthenticated',
    'the proof over token, cluster and keys was not signed with the key that the call names; find out what changes the calls on their way to this cluster',
  ],
  clusterAdmittedError: [
    link.clusterAdmittedError('c1', 'west'),
    'permission_denied',
    'c1 is admitted here as west, with other keys; if west has lost its keys, revoke west by POST sys/replication/dr/primary/revoke-secondary {"id": "west"}, then make another activation token',
  ],
  selfSecondaryError: [
    link.selfSecondaryError(),
    'failed_precondition',
    'a cluster cannot be its own secondary; give the token to another cluster',
  ],
  noLongerPrimaryError: [
    link.noLongerPrimaryError(),
    'failed_precondition',
    'this cluster is no longer the primary; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  restoredCopyError: [
    link.restoredCopyError(),
    'failed_precondition',
    'this cluster is a restored copy: its journal is not the journal of the set; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  callSignatureError: [
    link.callSignatureError(),
    'unauthenticated',
    'the call is not signed by the key that it names; find out what changes the calls on their way to this cluster',
  ],
  termNotYetAddedError: [
    link.termNotYetAddedError(2),
    'unavailable',
    'the keyring has no term 2 yet; repeat the request in a moment',
  ],
  epochTooHighError: [
    link.epochTooHighError('999999.a', '000001.b'),
    'invalid_argument',
    '999999.a is more than 1000 epochs above 000001.b: take-overs cannot have led there; revoke the caller by POST sys/replication/dr/primary/revoke-secondary',
  ],
  tokenBeforeRevocationError: [
    link.tokenBeforeRevocationError(),
    'permission_denied',
    'the token was made before the calling cluster was revoked; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenExpiredError: [
    link.tokenExpiredError(1_700_000_000_000),
    'permission_denied',
    'the token expired at 2023-11-14T22:13:20Z; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenForOtherKeysError: [
    link.tokenForOtherKeysError(),
    'permission_denied',
    'the token was made for other keys than those of this secondary; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenInUseError: [
    link.tokenInUseError(),
    'unavailable',
    'another request was using or revoking the token at the same time; repeat the call',
  ],
  tokenOfOtherClusterError: [
    link.tokenOfOtherClusterError(),
    'unauthenticated',
    'the token was not made by this cluster; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenOfOtherSetError: [
    link.tokenOfOtherSetError(),
    'failed_precondition',
    'the token is of another DR set; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenOfEarlierEpochError: [
    link.tokenOfEarlierEpochError(),
    'permission_denied',
    'the token was made before this cluster became primary again; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenRevokedError: [
    link.tokenRevokedError(),
    'permission_denied',
    'the token was revoked; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenUsedError: [
    link.tokenUsedError(),
    'permission_denied',
    'the token has been used; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
}

test('every refusal of the link has a row', () => {
  expect(Object.keys(rows).sort()).toEqual(Object.keys(link).sort())
})

test.each(Object.entries(rows))('%s says what is wrong and what to do next', (_, [refusal, code, text]) => {
  expect([refusal.code, refusal.message]).toEqual([code, text])
  expect(text).toMatch(/; ./)
})
