import { isTransient, type LinkRefused, type LinkSilent } from '../../link/source.ts'
import type { ClusterMode } from '../../model/cluster.ts'
import type { OperationFault, OperationName } from '../../model/operation.ts'
import { type DeclareError, declareError } from '../../values/declare-error.ts'

/*
 * The reasons why operations fail, one function each. The text of a failure says what is wrong and what to do next.
 * The caller gets the text of the failure, and status shows it.
 * @see docs/spec/replication.md#refusals
 */

/**
 * Another attempt would fail for the same reason, so the operation fails. The error text is for the caller of the
 * operation.
 */
export class OperationFailed extends Error {
  override readonly name = 'OperationFailed'
  readonly code: OperationFault['code']
  readonly detail: string | undefined
  readonly retryAfter: number | undefined
  constructor(
    code: OperationFault['code'],
    text: string,
    options: ErrorOptions & { detail?: string; retryAfter?: number | undefined } = {},
  ) {
    super(text, options)
    this.code = code
    this.detail = options.detail
    this.retryAfter = options.retryAfter
  }
}

/** Returns the public text, followed by the text of an unexpected error. */
export const describeOperationFault = ({ text, detail }: Pick<OperationFault, 'text' | 'detail'>): string =>
  detail === undefined ? text : `${text}; the error's own text: ${detail}`

const failed = (
  code: OperationFault['code'],
  wrong: string,
  next: string,
  options?: ErrorOptions & { detail?: string; retryAfter?: number },
): OperationFailed => new OperationFailed(code, `${wrong}; ${next}`, options)

/** Declares a failure with a code. */
const declareBusy: DeclareError<OperationFailed> = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new OperationFailed('busy', message), wrong, next)
const declareInvalid: typeof declareBusy = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new OperationFailed('invalid_request', message), wrong, next)
const declareInternal: typeof declareBusy = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new OperationFailed('internal', message), wrong, next)
const declarePassedOver: typeof declareBusy = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => new OperationFailed('passed_over', message), wrong, next)

const MAKE_TOKEN =
  'make an activation token on the primary by POST sys/replication/dr/primary/secondary-token'
const LATER = 'repeat the request later'
/** Seconds after which a caller should try again if a cluster was silent or busy. */
const SILENT_RETRY_S = 10
const OR_FORCE = 'repeat the request later, or use force'
const AS_IT_IS =
  'GET sys/replication/dr/status shows the present role of this cluster: send a request that this role allows'

// faults of every kind of operation

export const operationEndedError = declareInternal(
  'the operation has ended',
  'GET sys/replication/dr/status shows the outcome of the operation',
)

export const unknownOperationError = declareInternal(
  'the requested operation does not exist on this cluster',
  AS_IT_IS,
)

/** Explanations of errors that a state machine passes on, by their names. Errors without an explanation are shown by name. */
const errorExplanations: readonly [name: RegExp, why: string][] = [
  [/^ApiError$/, 'tables or keys of this cluster could not be used, or were being changed'],
  [/^AccessDenied/, 'the IAM role of the step’s function lacks a permission that the step needs'],
  [/^(States|Lambda|Sandbox)\./, 'the Lambda function of the step was stopped, or could not be started'],
]

/** Characters of an error's own text that are stored. */
const LONGEST_DETAIL = 1000

/**
 * Returns the failure of a step by an unexpected error. The text contains only the kind of error, because status
 * shows the text to everybody. `detail` has the error's own text, which only the caller of the operation gets. The
 * log contains the whole error.
 * @param at name of the step
 */
export const createStepError = (at: string, { error, cause }: ReportedStepError) => {
  const message = messageIn(cause)
  const isPublic = error === 'ApiError' && message
  const why = isPublic || errorExplanations.find(([name]) => name.test(error))?.[1]
  const detail = isPublic || !message ? {} : { detail: message.slice(0, LONGEST_DETAIL) }
  return failed(
    'internal',
    `the step ${at} failed in every attempt: ${why ?? 'an unexpected error'} (${error})`,
    `find the details in the log of this cluster by the id of the operation; if GET sys/replication/dr/status does not show the requested role, repeat the request: completed steps are not repeated`,
    detail,
  )
}

/** An error as Step Functions reports it: its name, and for a Lambda its message as JSON. */
export interface ReportedStepError {
  error: string
  cause: string
}

function messageIn(cause: string): string | undefined {
  try {
    const { errorMessage } = (JSON.parse(cause) ?? {}) as { errorMessage?: unknown }
    return typeof errorMessage === 'string' ? errorMessage : undefined
  } catch {
    return cause === '' ? undefined : cause
  }
}

export const roleChangeRunningError = declareBusy(
  'another role change of this cluster is under way',
  'repeat the request when GET sys/replication/dr/status shows that the role change has ended',
)

/** @param name of the operation that has replaced the failed operation */
export const operationReplacedError = declarePassedOver(
  (name: OperationName) => `another operation has replaced this operation: ${name}`,
  'GET sys/replication/dr/status shows the progress of the new operation',
)

// faults of an activation, and of an update of the primary by token

export const tokenSetMismatchError = declareInvalid('the token is of a different replication set', MAKE_TOKEN)

export const invalidActivationTokenError = declareInvalid(
  'the token is not an activation token for this cluster',
  MAKE_TOKEN,
)

export const tokenAlreadyUsedError = declareInvalid('the activation token has been used', MAKE_TOKEN)

/** A refusal means that the token or this cluster is wrong. A silent or busy primary may answer later. */
export const handshakeFailedError = (cause: LinkRefused | LinkSilent) =>
  failed(
    isTransient(cause) ? 'busy' : 'activation_failed',
    `error unwrapping the secondary token: ${cause.message}`,
    'nothing has changed on this cluster: check that this cluster reaches the primary, and that the token was neither used nor revoked',
    { cause, retryAfter: SILENT_RETRY_S },
  )

/** The text of the primary's refusal says what to do next. */
export const admissionLostError = (cause: Error) =>
  new OperationFailed(
    'activation_failed',
    `the primary no longer admits this cluster, so the first sync was given up: ${cause.message}`,
    { cause },
  )

export const setChangedError = declareInternal('this cluster follows another set now', AS_IT_IS)

// faults of an update of the primary, a disable, and a demotion

/** @param failures by address: why the cluster there is not the primary */
export function noPrimaryFoundError(failures: ReadonlyMap<string, Error>) {
  const reasons = [...failures].map(([address, { message }]) => `${address}: ${message}`)
  return failed(
    [...failures.values()].some(isTransient) ? 'busy' : 'activation_failed',
    `no address answered as the primary of this set: ${reasons.join('; ')}`,
    'nothing has changed on this cluster: after a fail-over another cluster is the primary, so give a token of that cluster',
    { retryAfter: SILENT_RETRY_S },
  )
}

export const primaryAnswerMissingError = declareInvalid(
  'the answer of the primary to the token is no longer stored',
  MAKE_TOKEN,
)

export const noLongerSecondaryError = declareBusy('this cluster is no longer a secondary', AS_IT_IS)

export const roleChangedMeanwhileError = declareBusy(
  'another role change of this cluster came first',
  AS_IT_IS,
)

export const noJournalToCloseError = declareBusy(
  'this cluster writes no journal of its own, so there is nothing to close',
  AS_IT_IS,
)

// faults of operations on the tree

export const noTreeInModeError = declareInvalid(
  (mode: ClusterMode) => `this cluster keeps no tree: its mode is ${mode}`,
  'only a DR primary or a DR secondary has a tree',
)

export const treeStillBuildingError = declareBusy(
  'the tree is being built',
  'repeat the request when GET sys/replication/dr/status no longer shows reindex_in_progress',
)

export const treeTooLargeError = declareBusy(
  'the run could not read all tables within 15 minutes',
  'repeat the request when clients write less',
)

/** The text of the error in `cause` says what to do next. */
export const treeBusyError = (cause: Error) => new OperationFailed('busy', cause.message, { cause })

export const bucketsChangingError = declareBusy('some buckets of the tree keep changing', LATER)

export const hashesChangingError = declareBusy('the hashes of the tree keep changing', LATER)

export const noPrimaryToCompareError = declareInvalid(
  'this cluster follows no primary to compare its items with',
  'leave diff out',
)

export const comparisonFailedError = (cause: unknown) =>
  failed(
    'busy',
    `the tree was rebuilt, but could not be compared with the primary's: ${cause instanceof Error ? cause.message : String(cause)}`,
    LATER,
    { cause },
  )

export const syncRunningError = declareBusy('a sync is under way', LATER)

// of a promotion

/** The obstacles to a promotion, by the rows of `promotion/decide.ts`. */
export const promotionRefusedError = ({ code, text, retryAfter }: OperationFault) =>
  new OperationFailed(code, text, { retryAfter })

export const handoverUnansweredError = declareBusy(
  'the primary did not answer the request to hand over',
  OR_FORCE,
)

export const handoverRefusedError = declareBusy(
  (why: string) => `the primary does not hand over: ${why}; nothing has changed on either cluster`,
  OR_FORCE,
)

/** @param why the other cluster's answer, which tells what it knows about this cluster */
export const primaryReplacedError = declarePassedOver(
  (why: string) =>
    `the cluster that answers as the primary has begun another epoch, or follows another cluster: ${why}`,
  'have this cluster follow the primary of the set by POST sys/replication/dr/secondary/update-primary with a token of that primary; or promote this cluster by force to make it the primary',
)

export const handoverIncompleteError = declareBusy(
  (end: number, here: number) =>
    `the primary’s journal ends at position ${end}, and this cluster receives nothing beyond ${here}`,
  OR_FORCE,
)

/** @param end last position of the primary's journal, as text; `here`: last position of this cluster's journal */
export const journalEndsDifferError = declareBusy(
  (end: string, here: string) => `the primary’s journal ends at ${end}, and this cluster’s at ${here}`,
  OR_FORCE,
)

export const syncStartedError = declareBusy('a sync has begun meanwhile (merkle-sync)', OR_FORCE)

export const handoverEntriesError = declareBusy(
  (what: string) => `received journal entries cannot be applied: ${what}`,
  OR_FORCE,
)

export const noJournalToTakeOverError = declareBusy(
  'this cluster follows no journal of another cluster, so it has no journal to take over',
  AS_IT_IS,
)
