import { expect, test } from 'vitest'
import * as fault from '../../../../shared/replication/operation/faults.ts'

// What an operation that is given up says, word for word; scripts and runbooks quote it.

type Row = readonly [fault: fault.OperationFailed, code: fault.OperationFailed['code'], text: string]

/** Of those that say themselves what to do next. */
const whole: Readonly<Record<string, Row>> = {
  bucketsWritten: [
    fault.bucketsWritten(),
    'busy',
    'some buckets of the tree are always being written to; repeat this later',
  ],
  comparisonFailed: [
    fault.comparisonFailed(new Error('no answer')),
    'busy',
    "the tree is made anew, but could not be compared with the primary's: no answer; repeat this later",
  ],
  endsDiffer: [
    fault.endsDiffer('000001.a/7', '000001.a/6'),
    'busy',
    'the primary’s journal ends at 000001.a/7, and this cluster’s at 000001.a/6; repeat this later, or use force',
  ],
  handoverRefused: [
    fault.handoverRefused('why'),
    'busy',
    'the primary does not hand over: why; nothing has changed on either cluster; repeat this later, or use force',
  ],
  handoverSilent: [
    fault.handoverSilent(),
    'busy',
    'the primary was asked to hand over, and fell silent; repeat this later, or use force',
  ],
  hashesMove: [fault.hashesMove(), 'busy', 'hashes of the tree do not come to rest; repeat this later'],
  nothingToCompare: [
    fault.nothingToCompare(),
    'invalid_request',
    'this cluster follows no primary that it could be compared with; leave diff out',
  ],
  primaryPassed: [
    fault.primaryPassed('west was admitted before; give it another token'),
    'passed_over',
    'whoever answers for the primary has begun another epoch, or follows another one: west was admitted before; give it another token; have this cluster follow the primary of the set by POST sys/replication/dr/secondary/update-primary with a token that it has made; or promote it by force, if it shall be the primary itself',
  ],
  takenOver: [
    fault.takenOver('update-primary'),
    'passed_over',
    'another operation was asked for, and has taken the place of this one: update-primary; GET sys/replication/dr/status shows what becomes of it',
  ],
  promotionRefused: [
    fault.promotionRefused({ code: 'busy', text: 'what is wrong; what to do next' }),
    'busy',
    'what is wrong; what to do next',
  ],
  restMissing: [
    fault.restMissing(7, 6),
    'busy',
    'the primary’s journal ends at position 7, and nothing beyond 6 comes; repeat this later, or use force',
  ],
  restUnusable: [
    fault.restUnusable('a staged cell is not there'),
    'busy',
    'what has been received cannot be applied: a staged cell is not there; repeat this later, or use force',
  ],
  syncBegan: [
    fault.syncBegan(),
    'busy',
    'a sync has begun meanwhile (merkle-sync); repeat this later, or use force',
  ],
  syncRuns: [fault.syncRuns(), 'busy', 'a sync is under way; repeat this later'],
  tokenForAnother: [
    fault.tokenForAnother(),
    'invalid_request',
    'this is no activation token for this cluster; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenOfOtherSet: [
    fault.tokenOfOtherSet(),
    'invalid_request',
    'the token is of a different replication set; make one on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  treeLost: [
    fault.treeLost('disabled'),
    'invalid_request',
    'this cluster keeps no tree: its mode is disabled; there is one as soon as it is a DR primary or a DR secondary',
  ],
  treePasses: [
    fault.treePasses(new Error('what is wrong; what to do next')),
    'busy',
    'what is wrong; what to do next',
  ],
  treeUnbuilt: [
    fault.treeUnbuilt(),
    'busy',
    'the tree is being built; repeat this when GET sys/replication/dr/status shows no reindex_in_progress any more',
  ],
}

/** Of those whose callers are told the same next thing whatever went wrong: `changeFailed`, `primaryRefused`, `noPrimaryFound`. */
const followed: Readonly<Record<string, Row>> = {
  givenLost: [fault.givenLost(), 'internal', 'what the primary gave is not there any more'],
  noJournalToTake: [
    fault.noJournalToTake(),
    'internal',
    'this cluster has no journal of another one to take over',
  ],
  noOwnLinkKey: [fault.noOwnLinkKey(), 'internal', 'a secondary without a key of its own'],
  noPromotion: [fault.noPromotion(), 'internal', 'this operation is no promotion'],
  noRecord: [fault.noRecord(), 'internal', 'this cluster is not initialised'],
  noSecondaryNow: [fault.noSecondaryNow(), 'busy', 'this cluster is no secondary any more'],
  nobodyAnswered: [
    fault.nobodyAnswered(['https://east: no answer', 'https://west: no answer']),
    'activation_failed',
    'nobody answered as the primary of this set: https://east: no answer; https://west: no answer',
  ],
  notPromotable: [fault.notPromotable(), 'internal', 'this cluster is no secondary any more'],
  nothingToClose: [
    fault.nothingToClose(),
    'busy',
    'this cluster writes no journal of its own that could be closed',
  ],
  operationOver: [fault.operationOver(), 'internal', 'the operation has ended'],
  operationUnknown: [fault.operationUnknown(), 'internal', 'there is no such operation'],
  admissionLost: [
    fault.admissionLost(new Error('west was revoked; give it another token')),
    'activation_failed',
    'the primary does not admit this cluster any more, and the first sync is given up: west was revoked; give it another token',
  ],
  primarySaid: [
    fault.primarySaid(new Error('the token was revoked')),
    'internal',
    'error unwrapping the secondary token: the token was revoked',
  ],
  roleTaken: [fault.roleTaken(), 'internal', 'another change of the role of this cluster is under way'],
  roleWasTaken: [fault.roleWasTaken(), 'busy', 'another change of the role of this cluster was faster'],
  setLeft: [fault.setLeft(), 'internal', 'this cluster follows another set by now'],
  stepFailed: [
    fault.stepFailed('wipe', { error: 'ApiError', cause: '{"errorMessage":"the storage is busy"}' }),
    'internal',
    'the step wipe failed: the storage is busy',
  ],
  tokenGone: [fault.tokenGone(), 'internal', 'the activation token has been used'],
  treeTooLarge: [fault.treeTooLarge(), 'internal', 'the tables are too large to be gone through in one run'],
}

test('every fault stands here', () => {
  const { OperationFailed: _, ...rows } = fault
  expect([...Object.keys(whole), ...Object.keys(followed)].sort()).toEqual(Object.keys(rows).sort())
})

test.each(Object.entries(whole))('%s says what is wrong, and what to do next', (_, [given, code, text]) => {
  expect([given.code, given.message]).toEqual([code, text])
  expect(text).toMatch(/; ./)
})

test.each(Object.entries(followed))('%s says what is wrong', (_, [given, code, text]) => {
  expect([given.code, given.message]).toEqual([code, text])
})

test.each<[error: string, cause: string, text: string]>([
  [
    'AccessDeniedException',
    '',
    'the role of the function may not do what the step needs (AccessDeniedException)',
  ],
  ['States.Timeout', '', 'it took too long (States.Timeout)'],
  ['TypeError', '{"errorMessage":"x of arn:aws:secret"}', 'an error that is not foreseen (TypeError)'],
])(
  'a step that failed by %s says so in words, tells nothing of its text, and where that stands',
  (error, cause, text) => {
    expect(fault.stepFailed('forget', { error, cause }).message).toBe(
      `the step forget failed: ${text}; the log of the function has a line with the error and the id of the operation`,
    )
  },
)

test.each(['{', 'the storage is busy', '"a text"', '{"errorMessage":7}', ''])(
  'a refusal that comes as %j is told as well as it can be',
  cause => {
    const { message } = fault.stepFailed('forget', { error: 'ApiError', cause })
    expect(message).toBe(
      `the step forget failed: ${['{', 'the storage is busy'].includes(cause) ? cause : 'ApiError'}`,
    )
  },
)
