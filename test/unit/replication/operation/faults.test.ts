import { expect, test } from 'vitest'
import { LinkRefused, LinkSilent } from '../../../../shared/link/source.ts'
import * as fault from '../../../../shared/replication/operation/faults.ts'
import { operationFailedError } from '../../../../shared/replication/operation/refusals.ts'
import { defined } from '../../../../shared/values/defined.ts'

// Tests the texts of failed operations word for word, because scripts and runbooks quote them.

type Row = readonly [fault: fault.OperationFailed, code: fault.OperationFailed['code'], text: string]

const MAKE_TOKEN =
  'make an activation token on the primary by POST sys/replication/dr/primary/secondary-token'
const AS_IT_IS =
  'GET sys/replication/dr/status shows the present role of this cluster: send a request that this role allows'
const LOG_TELLS =
  'find the details in the log of this cluster by the id of the operation; if GET sys/replication/dr/status does not show the requested role, repeat the request: completed steps are not repeated'

const rows: Readonly<Record<string, Row>> = {
  bucketsChangingError: [
    fault.bucketsChangingError(),
    'busy',
    'some buckets of the tree keep changing; repeat the request later',
  ],
  comparisonFailedError: [
    fault.comparisonFailedError(new Error('no answer')),
    'busy',
    "the tree was rebuilt, but could not be compared with the primary's: no answer; repeat the request later",
  ],
  journalEndsDifferError: [
    fault.journalEndsDifferError('000001.a/7', '000001.a/6'),
    'busy',
    'the primary’s journal ends at 000001.a/7, and this cluster’s at 000001.a/6; repeat the request later, or use force',
  ],
  handoverRefusedError: [
    fault.handoverRefusedError('why'),
    'busy',
    'the primary does not hand over: why; nothing has changed on either cluster; repeat the request later, or use force',
  ],
  handoverUnansweredError: [
    fault.handoverUnansweredError(),
    'busy',
    'the primary did not answer the request to hand over; repeat the request later, or use force',
  ],
  hashesChangingError: [
    fault.hashesChangingError(),
    'busy',
    'the hashes of the tree keep changing; repeat the request later',
  ],
  noPrimaryToCompareError: [
    fault.noPrimaryToCompareError(),
    'invalid_request',
    'this cluster follows no primary to compare its items with; leave diff out',
  ],
  primaryReplacedError: [
    fault.primaryReplacedError('west was admitted before; give it another token'),
    'passed_over',
    'the cluster that answers as the primary has begun another epoch, or follows another cluster: west was admitted before; give it another token; have this cluster follow the primary of the set by POST sys/replication/dr/secondary/update-primary with a token of that primary; or promote this cluster by force to make it the primary',
  ],
  operationReplacedError: [
    fault.operationReplacedError('update-primary'),
    'passed_over',
    'another operation has replaced this operation: update-primary; GET sys/replication/dr/status shows the progress of the new operation',
  ],
  promotionRefusedError: [
    fault.promotionRefusedError({ code: 'busy', text: 'what is wrong; what to do next' }),
    'busy',
    'what is wrong; what to do next',
  ],
  handoverIncompleteError: [
    fault.handoverIncompleteError(7, 6),
    'busy',
    'the primary’s journal ends at position 7, and this cluster receives nothing beyond 6; repeat the request later, or use force',
  ],
  handoverEntriesError: [
    fault.handoverEntriesError('a staged journal entry is missing'),
    'busy',
    'received journal entries cannot be applied: a staged journal entry is missing; repeat the request later, or use force',
  ],
  syncStartedError: [
    fault.syncStartedError(),
    'busy',
    'a sync has begun meanwhile (merkle-sync); repeat the request later, or use force',
  ],
  syncRunningError: [fault.syncRunningError(), 'busy', 'a sync is under way; repeat the request later'],
  invalidActivationTokenError: [
    fault.invalidActivationTokenError(),
    'invalid_request',
    'the token is not an activation token for this cluster; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  tokenSetMismatchError: [
    fault.tokenSetMismatchError(),
    'invalid_request',
    'the token is of a different replication set; make an activation token on the primary by POST sys/replication/dr/primary/secondary-token',
  ],
  noTreeInModeError: [
    fault.noTreeInModeError('disabled'),
    'invalid_request',
    'this cluster keeps no tree: its mode is disabled; only a DR primary or a DR secondary has a tree',
  ],
  treeBusyError: [
    fault.treeBusyError(new Error('what is wrong; what to do next')),
    'busy',
    'what is wrong; what to do next',
  ],
  treeStillBuildingError: [
    fault.treeStillBuildingError(),
    'busy',
    'the tree is being built; repeat the request when GET sys/replication/dr/status no longer shows reindex_in_progress',
  ],
  primaryAnswerMissingError: [
    fault.primaryAnswerMissingError(),
    'invalid_request',
    `the answer of the primary to the token is no longer stored; ${MAKE_TOKEN}`,
  ],
  noJournalToTakeOverError: [
    fault.noJournalToTakeOverError(),
    'busy',
    `this cluster follows no journal of another cluster, so it has no journal to take over; ${AS_IT_IS}`,
  ],
  noLongerSecondaryError: [
    fault.noLongerSecondaryError(),
    'busy',
    `this cluster is no longer a secondary; ${AS_IT_IS}`,
  ],
  noPrimaryFoundError: [
    fault.noPrimaryFoundError(
      new Map([
        ['https://east', new LinkRefused('failed_precondition', 'not a primary')],
        ['https://west', new LinkSilent('no answer')],
      ]),
    ),
    'busy',
    'no address answered as the primary of this set: https://east: not a primary; https://west: no answer; nothing has changed on this cluster: after a fail-over another cluster is the primary, so give a token of that cluster',
  ],
  noJournalToCloseError: [
    fault.noJournalToCloseError(),
    'busy',
    `this cluster writes no journal of its own, so there is nothing to close; ${AS_IT_IS}`,
  ],
  operationEndedError: [
    fault.operationEndedError(),
    'internal',
    'the operation has ended; GET sys/replication/dr/status shows the outcome of the operation',
  ],
  unknownOperationError: [
    fault.unknownOperationError(),
    'internal',
    `the requested operation does not exist on this cluster; ${AS_IT_IS}`,
  ],
  admissionLostError: [
    fault.admissionLostError(new Error('west was revoked; give it another token')),
    'activation_failed',
    'the primary no longer admits this cluster, so the first sync was given up: west was revoked; give it another token',
  ],
  handshakeFailedError: [
    fault.handshakeFailedError(new LinkRefused('permission_denied', 'the token was revoked')),
    'activation_failed',
    'error unwrapping the secondary token: the token was revoked; nothing has changed on this cluster: check that this cluster reaches the primary, and that the token was neither used nor revoked',
  ],
  roleChangeRunningError: [
    fault.roleChangeRunningError(),
    'busy',
    'another role change of this cluster is under way; repeat the request when GET sys/replication/dr/status shows that the role change has ended',
  ],
  roleChangedMeanwhileError: [
    fault.roleChangedMeanwhileError(),
    'busy',
    `another role change of this cluster came first; ${AS_IT_IS}`,
  ],
  setChangedError: [fault.setChangedError(), 'internal', `this cluster follows another set now; ${AS_IT_IS}`],
  createStepError: [
    fault.createStepError('verify', { error: 'ApiError', cause: '' }),
    'internal',
    `the step verify failed in every attempt: tables or keys of this cluster could not be used, or were being changed (ApiError); ${LOG_TELLS}`,
  ],
  tokenAlreadyUsedError: [
    fault.tokenAlreadyUsedError(),
    'invalid_request',
    `the activation token has been used; ${MAKE_TOKEN}`,
  ],
  treeTooLargeError: [
    fault.treeTooLargeError(),
    'busy',
    'the run could not read all tables within 15 minutes; repeat the request when clients write less',
  ],
}

test('every fault is in this table', () => {
  const { OperationFailed: _, describeOperationFault: __, ...faults } = fault
  expect(Object.keys(rows).sort()).toEqual(Object.keys(faults).sort())
})

test.each<[string, fault.OperationFailed, status: string, retryAfter: number | undefined]>([
  [
    'a refusal',
    fault.handshakeFailedError(new LinkRefused('permission_denied', 'used')),
    'activation_failed',
    undefined,
  ],
  ['a busy primary', fault.handshakeFailedError(new LinkRefused('unavailable', 'busy')), 'busy', 10],
  ['a silent primary', fault.handshakeFailedError(new LinkSilent('no answer')), 'busy', 10],
  [
    'refusals at all addresses',
    fault.noPrimaryFoundError(
      new Map([['https://east', new LinkRefused('failed_precondition', 'no primary')]]),
    ),
    'activation_failed',
    undefined,
  ],
])(
  '%s during an activation has the code and Retry-After of a permanent or temporary fault',
  (_, failed, code, retryAfter) => {
    const { message: text, code: given, retryAfter: seconds } = failed
    expect(operationFailedError(defined({ code: given, text, retryAfter: seconds }))).toMatchObject({
      code,
      retryAfter,
    })
  },
)

test.each(Object.entries(rows))(
  'the text of the fault %s says what is wrong, and what to do next',
  (_, [given, code, text]) => {
    expect([given.code, given.message]).toEqual([code, text])
    expect(text).toMatch(/; ./)
  },
)

test.each([
  ['States.Timeout', '', 'the Lambda function of the step was stopped, or could not be started'],
  [
    'Lambda.TooManyRequestsException',
    '',
    'the Lambda function of the step was stopped, or could not be started',
  ],
  ['AccessDeniedException', '', 'the IAM role of the step’s function lacks a permission that the step needs'],
  ['TypeError', '{"errorMessage":"x of arn:aws:secret"}', 'an unexpected error'],
  ['ApiError', '{"errorMessage":"the storage is busy"}', 'the storage is busy'],
  ['ApiError', 'the storage is busy', 'the storage is busy'],
  ...['{"errorMessage":7}', '"a text"', ''].map(cause => [
    'ApiError',
    cause,
    'tables or keys of this cluster could not be used, or were being changed',
  ]),
])(
  'the text of a step that failed by %s %j contains no private detail',
  (error = '', cause = '', text = '') => {
    expect(fault.createStepError('forget', { error, cause }).message).toBe(
      `the step forget failed in every attempt: ${text} (${error}); ${LOG_TELLS}`,
    )
  },
)

test.each([
  ['TypeError', '{"errorMessage":"x is not a function"}', 'x is not a function'],
  [
    'AccessDeniedException',
    '{"errorMessage":"no kms:Decrypt on arn:aws:kms:x"}',
    'no kms:Decrypt on arn:aws:kms:x',
  ],
  ['States.Timeout', 'it took 900 seconds', 'it took 900 seconds'],
  ['Error', JSON.stringify({ errorMessage: 'x'.repeat(2000) }), 'x'.repeat(1000)],
  ['ApiError', '{"errorMessage":"the storage is busy"}', undefined],
  ['TypeError', '', undefined],
])('the caller of an operation that failed by %s %j gets the error’s own text', (error, cause, detail) => {
  const failed = fault.createStepError('forget', { error, cause })
  expect(failed.detail).toBe(detail)
  const answer = operationFailedError({
    code: failed.code,
    text: failed.message,
    ...(detail ? { detail } : {}),
  })
  const more = detail ? `; the error's own text: ${detail}` : ''
  expect([answer.code, answer.message]).toEqual(['busy', `${failed.message}${more}`])
})
