import { ApiError, createApiError, STORAGE_BUSY_TEXT } from '../../../api/errors.ts'
import { defined } from '../../../values/defined.ts'
import { retryReason } from '../wire/retry.ts'
import type { AwsServiceError } from '../wire/service-error.ts'
import type { PlainItem } from '../wire/values.ts'

/**
 * Error codes of transaction elements and of whole requests that may pass, in addition to the codes that the client
 * treats as throttling.
 */
const TRANSIENT = [
  'ProvisionedThroughputExceeded',
  'ThrottlingError',
  'TransactionConflict',
  'TransactionConflictException',
  'InternalServerError',
]

const isTransient = (error: unknown): boolean =>
  TRANSIENT.includes((error as Partial<Error>).name ?? '') || retryReason(error) === 'throttled'

/**
 * The reason why a write failed. `busy`: the caller may repeat the write. `condition`: conditions of the write did
 * not hold.
 */
export type WriteFault =
  | { readonly kind: 'busy' }
  | {
      readonly kind: 'condition'
      /** `places`: the indexes of the elements whose conditions did not hold */
      readonly places: readonly number[]
      /** `items`: the stored items, for the writes that request them (in DynamoDB's form) */
      readonly items: readonly PlainItem[]
    }

const BUSY: WriteFault = { kind: 'busy' }

const CONDITION = 'ConditionalCheckFailed'

interface Reason {
  Code?: string
  Item?: PlainItem
}

/** Returns why each element of a transaction was refused. */
const reasonsIn = ({ CancellationReasons: reasons }: PlainItem): Reason[] =>
  Array.isArray(reasons) ? reasons.map((reason: Reason | null) => reason ?? {}) : []

const itemsIn = (reasons: readonly Reason[]): PlainItem[] =>
  reasons.flatMap(({ Item }) => (Item ? [Item] : []))

/**
 * Returns why a write failed.
 * @throws any other error, as `busy` where DynamoDB may take the write later
 */
export function toWriteFault(error: unknown): WriteFault {
  const { name, details = {} } = error as Partial<AwsServiceError>
  if (name === 'ConditionalCheckFailedException')
    return { kind: 'condition', places: [0], items: itemsIn([details as Reason]) }
  if (name === 'TransactionCanceledException') {
    const reasons = reasonsIn(details)
    const codes = reasons.map(({ Code = 'None' }) => Code)
    if (codes.includes(CONDITION))
      return {
        kind: 'condition',
        places: codes.flatMap((code, index) => (code === CONDITION ? [index] : [])),
        items: itemsIn(reasons),
      }
    if (codes.every(code => code === 'None' || TRANSIENT.includes(code))) return BUSY
  }
  if (isTransient(error)) return BUSY
  throw unavailable(error)
}

/** Returns the error for a request that DynamoDB cannot take now. */
export const storageBusyError = (cause?: unknown): ApiError =>
  new ApiError('busy', STORAGE_BUSY_TEXT, defined({ retryAfter: 1, cause }))

/**
 * Returns the error for a write after the journal has ended and before the cluster record says so. The record follows
 * in a moment, unless the process has died.
 */
export const journalEndedError = (): ApiError =>
  createApiError(
    'busy',
    'this cluster accepts no more changes, because its journal was ended so that another cluster can take over',
    'repeat the request; if the error lasts, promote the other cluster, or this cluster with force, by POST sys/replication/dr/secondary/promote',
    { retryAfter: 2, reason: { why: 'handing-over' } },
  )

/** An error that the client would retry may pass later, however often it was retried. */
const unavailable = (error: unknown): unknown =>
  isTransient(error) || retryReason(error) || statusOf(error) >= 500 ? storageBusyError(error) : error

const statusOf = (error: unknown): number =>
  (error as Partial<AwsServiceError>).$metadata?.httpStatusCode ?? 0

/**
 * Returns the answer to a request to DynamoDB.
 * @throws ApiError `busy` when DynamoDB cannot take the request now
 */
export const translateDynamoErrors = <T>(request: Promise<T>): Promise<T> =>
  request.catch(error => {
    throw unavailable(error)
  })
