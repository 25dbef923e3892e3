import { ApiError } from '../../api/errors.ts'
import type { Meter } from '../../ports.ts'
import { isThrottling } from '../../values/throttling.ts'
import { faultCounterName } from '../../watching/logins.ts'
import type { Service } from './provider-settings.ts'

const UNKNOWN_KEY = [
  'InvalidClientTokenId',
  'AuthFailure',
  'UnrecognizedClientException',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
]
const TIMEOUTS = ['AbortError', 'TimeoutError']
/** The SDK, by which keys are managed, calls a connection that broke a timeout, too. */
const BROKEN = ['ECONNRESET', 'EPIPE']

const SESSION_GONE = [...UNKNOWN_KEY, 'ExpiredToken', 'RequestExpired']

/** AWS's name of an error, also of one that was judged already. */
const nameOf = (error: unknown): string =>
  error instanceof ApiError ? nameOf(error.cause) : error instanceof Error ? error.name : ''

/** Whether AWS does not know the key that signed: one that was made a moment ago is not known everywhere yet. */
export const isUnknownKey = (error: unknown): boolean => UNKNOWN_KEY.includes(nameOf(error))

/**
 * Whether a service refused the temporary credentials that signed. A refusal by STS itself does not count: it issues
 * them.
 */
export const isLostSession = (error: unknown): boolean =>
  !(error instanceof ApiError) && SESSION_GONE.includes(nameOf(error))

/** A call to another service may fail in STS, on the way to its credentials: the verdict has to name STS. */
export function throwStsFault(error: unknown): never {
  throw providerFault('sts', error)
}

/** Counts a call that went wrong for the work that needed it. @param error as `providerFault` judges it */
export function countFault({ reason = {} }: ApiError, meter: Pick<Meter, 'count'>): void {
  const { service, why } = reason
  if (typeof service === 'string')
    meter.count(faultCounterName(service, why === 'throttled' ? 'throttled' : 'failed'))
}

/** What a failed call means for the request that needed it: `busy` or `provider_failed`. */
export function providerFault(service: Service, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const name = nameOf(error)
  const where = { ec2: 'EC2', iam: 'IAM', sts: 'STS' }[service]
  if (isThrottling(name))
    return new ApiError('busy', `${where} is throttling requests`, {
      cause: error,
      retryAfter: 1,
      reason: { why: 'throttled', service },
    })
  const { code = '', $metadata } = error as { code?: string; $metadata?: { httpStatusCode?: number } }
  if (TIMEOUTS.includes(name) && !BROKEN.includes(code))
    return new ApiError('busy', `${where} did not answer in time`, {
      cause: error,
      retryAfter: 1,
      reason: { why: 'timeout', service },
    })
  const status = $metadata?.httpStatusCode ?? 0
  // only a code of AWS's own grammar may travel: messages could hold names of the server's own resources
  const refused = status >= 400 && status < 500 && /^[A-Za-z0-9.]{1,64}$/.test(name)
  return new ApiError(
    'provider_failed',
    refused ? `${where} refused the server’s own request: ${name}` : `${where} could not answer`,
    {
      cause: error,
      reason: { why: refused ? 'provider-refused' : 'provider-failed', service, name },
    },
  )
}
