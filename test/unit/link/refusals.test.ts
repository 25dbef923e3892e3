import { expect, test } from 'vitest'
import * as link from '../../../shared/link/refusals.ts'
import type { LinkRefused, RefusalCode } from '../../../shared/link/source.ts'

// The text of each refusal of the link: what is wrong, and what to do next. `serve/refusals.test.ts` tests when each
// is sent.

const rows: Readonly<Record<string, readonly [refusal: LinkRefused, code: RefusalCode, text: string]>> = {
  bodyUnreadable: [
    link.bodyUnreadable('Heartbeat', 'a number is too large'),
    'invalid_argument',
    'the body of Heartbeat cannot be read: a number is too large; check that the caller is a cluster of this product, and upgrade it',
  ],
  internalError: [
    link.internalError(),
    'unavailable',
    'internal error; see the logs of the cluster that was asked',
  ],
  busyError: [
    link.busyError(new Error('the tree is being built; repeat this')),
    'unavailable',
    'the tree is being built; repeat this',
  ],
  replayedCall: [
    link.replayedCall(),
    'unavailable',
    'this cluster has seen a call of this time or a later one: this one is a replay; make a new call',
  ],
  callerOfEarlierEpoch: [
    link.callerOfEarlierEpoch('west'),
    'permission_denied',
    'west was admitted before this cluster became primary again; give it a new activation token by POST sys/replication/dr/secondary/update-primary',
  ],
  callerRevoked: [
    link.callerRevoked('west'),
    'permission_denied',
    'west was revoked; give it a new activation token by POST sys/replication/dr/secondary/update-primary',
  ],
  callerUnknown: [
    link.callerUnknown(),
    'unauthenticated',
    'the call is not signed by the key of a secondary that was admitted here; give it a new activation token by POST sys/replication/dr/secondary/update-primary',
  ],
  callerUnnamed: [
    link.callerUnnamed(),
    'invalid_argument',
    'the call does not name a cluster with its keys; check that the caller is a cluster of this product, and upgrade it',
  ],
  concurrentCalls: [
    link.concurrentCalls(),
    'unavailable',
    'two calls of this cluster are under way at once; repeat it',
  ],
  claimantRevoked: [
    link.claimantRevoked('a cluster'),
    'permission_denied',
    'a cluster was revoked here; if the other cluster should be the primary, end this one with POST sys/replication/dr/primary/demote',
  ],
  takeOverGivenUp: [
    link.takeOverGivenUp('000002.aaaaaaaaaaaa', 'a cluster'),
    'failed_precondition',
    'a cluster has followed this cluster since it claimed epoch 000002.aaaaaaaaaaaa, and so has given it up; if the other cluster should be the primary, end this one with POST sys/replication/dr/primary/demote',
  ],
  claimantUnknown: [
    link.claimantUnknown('a cluster'),
    'permission_denied',
    'no chain of statements leads from a cluster that is known here to the key of a cluster; if the other cluster should be the primary, end this one with POST sys/replication/dr/primary/demote',
  ],
  clocksApart: [
    link.clocksApart(371_000, 300_000, 1_700_000_000_000),
    'failed_precondition',
    "the caller's clock is 371 s ahead of this cluster's, which shows 2023-11-14T22:13:20Z: at most 300 s are allowed; set the clocks right",
  ],
  otherEpoch: [
    link.otherEpoch('000002.a', '000001.b'),
    'failed_precondition',
    'this cluster writes 000002.a, not 000001.b; repeat this after the next heartbeat of the secondary',
  ],
  epochOfOtherCluster: [
    link.epochOfOtherCluster('000001.b', 'a cluster'),
    'invalid_argument',
    '000001.b is not an epoch of a cluster; check that the caller is a cluster of this product, and upgrade it',
  ],
  fencedLater: [
    link.fencedLater('000002.a', '000001.b'),
    'failed_precondition',
    'this cluster writes 000002.a, which is later than 000001.b; if the other cluster should be the primary, end this one with POST sys/replication/dr/primary/demote',
  ],
  selfFence: [
    link.selfFence(),
    'failed_precondition',
    'a cluster does not fence itself; nothing needs to be done: the address is the caller’s own',
  ],
  followsNoPrimary: [
    link.followsNoPrimary(),
    'failed_precondition',
    'this cluster follows no primary; have it follow one by POST sys/replication/dr/secondary/update-primary',
  ],
  formatTooNew: [
    link.formatTooNew(7),
    'failed_precondition',
    'the primary speaks format 7, this version 1 at most; upgrade the secondaries first',
  ],
  formatTooOld: [
    link.formatTooOld(0),
    'failed_precondition',
    'this cluster speaks format 1, the secondary 0 at most; upgrade the secondary first; it keeps its data',
  ],
  handedOver: [
    link.handedOver('a cluster'),
    'failed_precondition',
    'this cluster has handed its role over to a cluster; another cluster can be promoted by force only',
  ],
  handoverInProgress: [
    link.handoverInProgress(),
    'unavailable',
    'this cluster is handing over to another one; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  notInSet: [
    link.notInSet(),
    'failed_precondition',
    'this cluster is in no DR set; check that the address is that of the primary',
  ],
  journalIncomplete: [
    link.journalIncomplete(33),
    'unavailable',
    'the journal is 33 % built; repeat this with the same token when it is complete',
  ],
  laterEpochSeen: [
    link.laterEpochSeen('000002.a', '000001.b'),
    'failed_precondition',
    'the caller has seen epoch 000002.a, this cluster writes 000001.b: another primary came after it; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  lineageChanged: [
    link.lineageChanged(),
    'failed_precondition',
    'the lineage of the journal has changed since the last heartbeat; start again with the lineage that the next heartbeat brings',
  ],
  lineageChanging: [
    link.lineageChanging(),
    'unavailable',
    'the lineage of the journal changed while it was being read; repeat it',
  ],
  lineageRevoked: [
    link.lineageRevoked('000001.b'),
    'permission_denied',
    'epoch 000001.b belongs to a cluster that was revoked here; if the other cluster should be the primary, end this one with POST sys/replication/dr/primary/demote',
  ],
  noOwnJournal: [
    link.noOwnJournal(),
    'failed_precondition',
    'this cluster is not a primary: it writes no journal of its own; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  noSuchPage: [
    link.noSuchPage(),
    'invalid_argument',
    'no such page of the tree; name one such as r#0a, or a bucket such as r#0a/00',
  ],
  notACall: [
    link.notACall(),
    'invalid_argument',
    'this is not a call of the link; check that the caller is a cluster of this product, and upgrade it',
  ],
  notAToken: [
    link.notAToken(),
    'invalid_argument',
    'this is not an activation token; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  notInitialised: [
    link.notInitialised(),
    'failed_precondition',
    'this cluster is not initialised; check that the address is that of the primary',
  ],
  notThePrimary: [
    link.notThePrimary('secondary'),
    'failed_precondition',
    'this cluster is not a primary: its mode is secondary; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  noticeUnsigned: [
    link.noticeUnsigned(),
    'unauthenticated',
    'the notice is not signed by the key of the primary that this cluster follows; if the caller is the primary, have this cluster follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  otherSet: [
    link.otherSet(),
    'failed_precondition',
    'this cluster belongs to another DR set; check that the address is that of the primary',
  ],
  notAnAddress: [
    link.notAnAddress(),
    'invalid_argument',
    'the cluster that hands in the token gives an address at which no cluster can be reached; give that cluster an https address of scheme, host and port, and none of its own machine or network',
  ],
  notSealed: [
    link.notSealed(),
    'invalid_argument',
    'the token is handed in unsealed: others may have read it; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  sealedToAnother: [
    link.sealedToAnother(),
    'unauthenticated',
    'the request is not sealed to the key of this cluster, for this set; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  proofMismatch: [
    link.proofMismatch(),
    'unauthenticated',
    'the proof of token, cluster and keys is not signed by the key that the call names; find out what changes calls on their way here',
  ],
  clusterAdmitted: [
    link.clusterAdmitted('c1', 'west'),
    'permission_denied',
    'c1 is admitted here as west, with other keys; if west has lost its keys, revoke west by POST sys/replication/dr/primary/revoke-secondary {"id": "west"}, then make another activation token',
  ],
  selfSecondary: [
    link.selfSecondary(),
    'failed_precondition',
    'a cluster cannot be its own secondary; give the token to another cluster',
  ],
  noLongerPrimary: [
    link.noLongerPrimary(),
    'failed_precondition',
    'this cluster is no longer the primary; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary',
  ],
  copyNotServed: [
    link.copyNotServed(),
    'failed_precondition',
    "this is a restored copy of a cluster: its journal is not the set's; find the primary of the set by GET sys/replication/dr/status, and follow it by POST sys/replication/dr/secondary/update-primary",
  ],
  signatureMismatch: [
    link.signatureMismatch(),
    'unauthenticated',
    'the call is not signed by the key that it names; find out what changes calls on their way here',
  ],
  termNotYetAdded: [
    link.termNotYetAdded(2),
    'unavailable',
    'the keyring has no term 2 yet; repeat it in a moment',
  ],
  epochTooHigh: [
    link.epochTooHigh('999999.a', '000001.b'),
    'invalid_argument',
    '999999.a is more than 1000 epochs above 000001.b: take-overs cannot have led there; revoke the caller by POST sys/replication/dr/primary/revoke-secondary',
  ],
  tokenBeforeRevocation: [
    link.tokenBeforeRevocation(),
    'permission_denied',
    'the token was made before this cluster was revoked; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenExpired: [
    link.tokenExpired(1_700_000_000_000),
    'permission_denied',
    'the token expired at 2023-11-14T22:13:20Z; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenForOtherKeys: [
    link.tokenForOtherKeys(),
    'permission_denied',
    'the token was made for other keys than those of this secondary; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenInUse: [
    link.tokenInUse(),
    'unavailable',
    'the token was being used or revoked at this very moment; repeat it',
  ],
  tokenOfOtherCluster: [
    link.tokenOfOtherCluster(),
    'unauthenticated',
    'the token was not made by this cluster; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenOfForeignSet: [
    link.tokenOfForeignSet(),
    'failed_precondition',
    'the token is of another DR set; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenOfEarlierEpoch: [
    link.tokenOfEarlierEpoch(),
    'permission_denied',
    'the token was made before this cluster became primary again; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenRevoked: [
    link.tokenRevoked(),
    'permission_denied',
    'the token was revoked; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenUsed: [
    link.tokenUsed(),
    'permission_denied',
    'the token has been used; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
}

test('every refusal of the link has a row', () => {
  expect(Object.keys(rows).sort()).toEqual(Object.keys(link).sort())
})

test.each(Object.entries(rows))('%s says what is wrong and what to do next', (_, [refusal, code, text]) => {
  expect([refusal.code, refusal.message]).toEqual([code, text])
  expect(text).toMatch(/; ./)
})
