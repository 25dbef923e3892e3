import { ApiError, refused, STORAGE_BUSY } from '../../../api/errors.ts'
import { defined } from '../../../values/defined.ts'
import { repeatable } from '../wire/retry.ts'
import type { ServiceError } from '../wire/service-error.ts'
import type { Raw } from './expressions.ts'

/** Codes of elements of a transaction, and of whole requests, besides those that the wire takes for throttling. */
const TRANSIENT = [
  'ProvisionedThroughputExceeded',
  'ThrottlingError',
  'TransactionConflict',
  'TransactionConflictException',
  'InternalServerError',
]

const isTransient = (error: unknown): boolean =>
  TRANSIENT.includes((error as Partial<Error>).name ?? '') || repeatable(error) === 'throttled'

/** What a failed write means: conditions that did not hold, or that it may be tried again. */
export type Failure = { condition: readonly number[]; found: readonly Raw[] } | 'again'

const CONDITION = 'ConditionalCheckFailed'

interface Reason {
  Code?: string
  Item?: Raw
}

/** Why each element of a transaction was refused. */
const reasonsIn = ({ CancellationReasons: reasons }: Raw): Reason[] =>
  Array.isArray(reasons) ? reasons.map((reason: Reason | null) => reason ?? {}) : []

const itemsIn = (reasons: readonly Reason[]): Raw[] => reasons.flatMap(({ Item }) => (Item ? [Item] : []))

/**
 * Tells why a write failed.
 * @returns `condition`: places of the elements that found something else; `found`, in the engine's terms: what was in
 * the way of those that asked for it
 * @throws whatever is neither
 */
export function failureOf(error: unknown): Failure {
  const { name, said = {} } = error as Partial<ServiceError>
  if (name === 'ConditionalCheckFailedException') return { condition: [0], found: itemsIn([said as Reason]) }
  if (name === 'TransactionCanceledException') {
    const reasons = reasonsIn(said)
    const codes = reasons.map(({ Code = 'None' }) => Code)
    if (codes.includes(CONDITION))
      return {
        condition: codes.flatMap((code, index) => (code === CONDITION ? [index] : [])),
        found: itemsIn(reasons),
      }
    if (codes.every(code => code === 'None' || TRANSIENT.includes(code))) return 'again'
  }
  if (isTransient(error)) return 'again'
  throw unavailable(error)
}

/** The engine cannot take it now: try again. */
export const busy = (cause?: unknown): ApiError =>
  new ApiError('busy', STORAGE_BUSY, defined({ retryAfter: 1, cause }))

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
