import { ApiError, refused } from '../../../api/errors.ts'
import { defined } from '../../../values/defined.ts'
import { repeatable } from '../wire/retry.ts'
import type { ServiceError } from '../wire/service-error.ts'
import type { Raw } from './expressions.ts'

const TRANSIENT = [
  'ProvisionedThroughputExceeded',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingError',
  'ThrottlingException',
  'TransactionConflict',
  'TransactionConflictException',
  'TransactionInProgressException',
  'InternalServerError',
]

const isTransient = (error: unknown): boolean => TRANSIENT.includes((error as Partial<Error>).name ?? '')

/** What a failed write means: conditions that did not hold, or that it may be tried again. */
export type Failure = { condition: readonly number[]; item?: Readonly<Record<string, unknown>> } | 'again'

const CONDITION = 'ConditionalCheckFailed'

/** Why each element of a transaction was refused: a code, or `None`. */
const reasonsIn = ({ CancellationReasons: reasons }: Raw): string[] =>
  Array.isArray(reasons) ? reasons.map((reason: { Code?: string } | null) => reason?.Code ?? 'None') : []

/**
 * Tells why a write failed.
 * @returns `condition`: places of the elements that found something else; `item`, in the engine's terms: what was in
 * the way of a single write that asked for it
 * @throws whatever is neither
 */
export function failureOf(error: unknown): Failure {
  const { name, said = {} } = error as Partial<ServiceError>
  if (name === 'ConditionalCheckFailedException')
    return defined({ condition: [0], item: said['Item'] as Raw | undefined })
  if (name === 'TransactionCanceledException') {
    const codes = reasonsIn(said)
    if (codes.includes(CONDITION))
      return { condition: codes.flatMap((code, index) => (code === CONDITION ? [index] : [])) }
    if (codes.every(code => code === 'None' || TRANSIENT.includes(code))) return 'again'
  }
  if (isTransient(error)) return 'again'
  throw unavailable(error)
}

/** The engine cannot take it now: try again. */
export const busy = (cause?: unknown): ApiError =>
  new ApiError('busy', 'the storage is busy', defined({ retryAfter: 1, cause }))

/** The journal has its exact end, and the record does not say so yet: it will in a moment, unless a process has died. */
export const handingOver = (): ApiError =>
  refused(
    'busy',
    'this cluster has ended its journal, so that another one takes over, and takes no more changes',
    'repeat this; where it lasts, promote the other cluster, or this one with force, by POST sys/replication/dr/secondary/promote',
    { retryAfter: 2, reason: { why: 'handing-over' } },
  )

/** What the wire would repeat may pass by itself, however often it was repeated. */
const unavailable = (error: unknown): unknown =>
  isTransient(error) || repeatable(error) || statusOf(error) >= 500 ? busy(error) : error

const statusOf = (error: unknown): number => (error as Partial<ServiceError>).$metadata?.httpStatusCode ?? 0

/** The answer to a request. @throws ApiError `busy` when the engine cannot take it now */
export const sent = <T>(request: Promise<T>): Promise<T> =>
  request.catch(error => {
    throw unavailable(error)
  })
