import { ApiError } from '../../api/errors.ts'
import type { CallMeter } from '../../ports.ts'
import { isThrottlingCode } from '../../values/throttling.ts'
import { faultCounterName } from '../../watching/logins.ts'
import type { AwsService } from './provider-settings.ts'

const UNKNOWN_KEY = [
  'InvalidClientTokenId',
  'AuthFailure',
  'UnrecognizedClientException',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
]
const TIMEOUTS = ['AbortError', 'TimeoutError']
/** The SDK, which manages the access keys, also reports a broken connection as a timeout. */
const BROKEN = ['ECONNRESET', 'EPIPE']

const SESSION_GONE = [...UNKNOWN_KEY, 'ExpiredToken', 'RequestExpired']

/** Returns AWS's name of an error, also of an error that was already converted. */
const nameOf = (error: unknown): string =>
  error instanceof ApiError ? nameOf(error.cause) : error instanceof Error ? error.name : ''

/**
 * Reports whether AWS does not know the key that signed. A key that was created a moment ago is not known
 * everywhere in AWS yet.
 */
export const isUnknownAccessKey = (error: unknown): boolean => UNKNOWN_KEY.includes(nameOf(error))

/**
 * Reports whether a service refused the temporary credentials that signed. A refusal by STS does not count as a
 * refusal of session credentials, because STS issues them.
 */
export const isInvalidAwsSession = (error: unknown): boolean =>
  !(error instanceof ApiError) && SESSION_GONE.includes(nameOf(error))

/**
 * Throws the fault of a call to STS. A call to another service may fail in STS while it fetches credentials, and
 * the error must then name STS.
 */
export function rethrowStsError(error: unknown): never {
  throw providerError('sts', error)
}

/**
 * Counts a failed AWS call for the request that needed it.
 * @param error from `providerError`
 */
export function countProviderFault({ reason = {} }: ApiError, meter: Pick<CallMeter, 'count'>): void {
  const { service, why } = reason
  if (typeof service === 'string')
    meter.count(faultCounterName(service, why === 'throttled' ? 'throttled' : 'failed'))
}

/**
 * Converts the error of a failed AWS call to the error of the request that needed the call: `busy` or
 * `provider_failed`.
 */
export function providerError(service: AwsService, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const name = nameOf(error)
  const where = { ec2: 'EC2', iam: 'IAM', sts: 'STS', organizations: 'Organizations' }[service]
  if (isThrottlingCode(name))
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
  // Only AWS's error code is shown to clients, because messages may contain names of the server's own resources.
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
