import { type IncomingMessage, request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { ApiError } from '../../api/errors.ts'
import type { CallMeter, Clock, StsAnswer, StsForwarder, StsRequest } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import { isThrottlingCode } from '../../values/throttling.ts'
import { faultCounterName } from '../../watching/logins.ts'
import {
  awaitResponse,
  httpsAgents,
  limitConnectTime,
  readBodyUpTo,
  resendOnDeadConnection,
} from './connections.ts'

interface Dependencies {
  clock: Clock
  meter: CallMeter
  /** `redirect` is the endpoint to connect to instead of the request's endpoint; empty: no redirect */
  redirect: string
}

const STS_CONNECT_TIMEOUT_MS = 3000
const LONGEST_ANSWER = 65_536
const DEFAULT_RETRIES = 2
const STS_FIRST_PAUSE_MS = 500
const STS_LONGEST_PAUSE_MS = 2000

/**
 * Forwards clients' signed requests to STS, header by header, without redirects, cookies or proxies. The certificate
 * is checked for the endpoint that we chose, not for the host that the client signed.
 * @see docs/spec/login-iam.md#call-to-sts
 */
export function createStsCallerIdentity({ clock, meter, redirect }: Dependencies): StsForwarder {
  function once(given: StsRequest, deadline: number): Promise<StsAnswer & { retryAfter?: string }> {
    const redirected = redirect !== '' && given.endpoint.includes('amazonaws')
    const url = new URL(redirected ? redirect : given.endpoint)
    const secure = url.protocol === 'https:'
    const left = deadline - clock.now()
    return new Promise((resolve, reject) => {
      const call = (secure ? request : plainRequest)(
        defined({
          host: url.hostname,
          port: url.port || (secure ? 443 : 80),
          servername: secure ? url.hostname : undefined,
          method: given.method,
          path: given.target,
          headers: [
            'Host',
            given.host,
            ...given.headers.flat(),
            // An imitated AWS serves all endpoints at one address. The header names the intended endpoint.
            ...(redirected ? ['Forwarded', `host=${new URL(given.endpoint).host}`] : []),
          ],
          agent: secure ? httpsAgents['https:'] : httpsAgents['http:'],
        }),
      )
      // After the answer has begun, destroying the call no longer reports the reason.
      const timer = setTimeout(
        () => {
          reject(new OutOfTime())
          call.destroy()
        },
        Math.max(1, left),
      )
      limitConnectTime(call, STS_CONNECT_TIMEOUT_MS, () => call.destroy(new OutOfTime()))
      awaitResponse(call).then(readAll).then(resolve, reject)
      call.on('close', () => clearTimeout(timer))
      call.end(given.body)
    })
  }

  async function forward(given: StsRequest, deadline: number): Promise<StsAnswer> {
    const retries = given.maxRetries < 0 ? DEFAULT_RETRIES : given.maxRetries
    for (let tries = 0; ; tries++) {
      meter.count('sts')
      const answer = await resendOnDeadConnection(() => once(given, deadline)).catch((error: Error) => error)
      const fault = faultOf(answer)
      if (fault) meter.count(faultCounterName('sts', fault))
      const last = tries >= retries
      const wait = waitFor(answer, tries)
      if (!(answer instanceof Error) && (last || !fault)) return answer
      if (last || clock.now() + wait >= deadline) {
        if (!(answer instanceof Error)) return answer
        throw answer instanceof OutOfTime
          ? new ApiError('busy', 'STS did not answer in time', {
              retryAfter: 1,
              cause: answer,
              reason: { why: 'timeout', service: 'sts' },
            })
          : new ApiError('provider_failed', 'STS could not be reached', {
              cause: answer,
              reason: { why: 'provider-failed', service: 'sts' },
            })
      }
      await clock.sleep(wait)
    }
  }

  return { forward }
}

class OutOfTime extends Error {}

/**
 * Returns the fault of an STS answer that a retry may change. STS throttles with an error code, and with varying
 * status codes.
 */
function faultOf(answer: Error | StsAnswer): 'throttled' | 'failed' | undefined {
  if (answer instanceof Error) return 'failed'
  const { status, body } = answer
  const code = status >= 400 ? /<Code>([A-Za-z]+)<\/Code>/.exec(body)?.[1] : undefined
  if (status === 429 || isThrottlingCode(code)) return 'throttled'
  return status >= 500 && status !== 501 ? 'failed' : undefined
}

function waitFor(answer: Error | { retryAfter?: string }, tries: number): number {
  const asked = answer instanceof Error ? Number.NaN : Number(answer.retryAfter) * 1000
  return Math.min(
    STS_LONGEST_PAUSE_MS,
    Number.isFinite(asked) ? Math.max(asked, 0) : STS_FIRST_PAUSE_MS * 2 ** tries,
  )
}

async function readAll(response: IncomingMessage): Promise<StsAnswer & { retryAfter?: string }> {
  const body = await readBodyUpTo(LONGEST_ANSWER, response)
  if (!body) return { status: response.statusCode ?? 0, contentType: '', body: '' }
  const retryAfter = response.headers['retry-after']
  return defined({
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    body: body.toString('utf8'),
    retryAfter,
  })
}
