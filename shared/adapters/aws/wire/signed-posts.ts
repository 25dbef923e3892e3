import type { WireSettings } from '../environment.ts'
import { type WireService, wireEndpointOf } from './endpoint.ts'
import { type WireAnswer, wireTransport } from './post.ts'
import { createSigV4Signer, type SigningKey } from './sign.ts'

/** Returns the credentials at the time of signing. */
export type SigningKeySource = () => SigningKey | Promise<SigningKey>

/**
 * Sends a body to a service with the headers of its protocol.
 * @param ms timeout
 */
export type SendSignedPost = (
  headers: Record<string, string>,
  body: string,
  ms: number,
) => Promise<WireAnswer>

/** Milliseconds by which a clock may be off before services refuse its signatures. */
const SIGNATURE_SKEW_MS = 240_000

const AGENT = 'cloud-auth'

export interface SignedPostTarget {
  service: WireService
  settings: WireSettings
  credentials: SigningKeySource
}

/**
 * Creates a function that sends signed POSTs to a service. If a request is refused and the service's clock differs
 * from this process's clock, the client signs and sends it once more with the service's time, and uses that time
 * for all later requests. A request that was refused for its signature has had no effect.
 */
export function createSignedPost({ service, settings, credentials }: SignedPostTarget): SendSignedPost {
  const address = wireEndpointOf(service, settings)
  const { host, path } = address
  const sign = createSigV4Signer(service, settings.region)
  let offset = 0

  async function once(headers: Record<string, string>, body: string, ms: number): Promise<WireAnswer> {
    const by = await credentials()
    const all = sign({ host, path, headers, body }, by, Date.now() + offset)
    all['user-agent'] = AGENT
    return wireTransport.post(address, all, body, ms)
  }

  return async (headers, body, ms) => {
    const until = performance.now() + ms
    const answer = await once(headers, body, ms)
    const other = readServiceClock(answer)
    if (other === undefined || Math.abs(other - (Date.now() + offset)) < SIGNATURE_SKEW_MS) return answer
    offset = other - Date.now()
    return once(headers, body, Math.max(1, until - performance.now()))
  }
}

/** Returns the service's time in a refusal, epoch milliseconds; undefined for a cached answer. */
function readServiceClock({ status, headers }: WireAnswer): number | undefined {
  if (status < 400 || status >= 500 || headers.age !== undefined) return undefined
  const at = Date.parse(headers.date ?? '')
  return Number.isNaN(at) ? undefined : at
}

/** Returns when a service asks for a retry, milliseconds from now. */
export function parseRetryAfter({ headers }: Pick<WireAnswer, 'headers'>): number | undefined {
  const { 'retry-after': after, 'x-amz-retry-after': milliseconds } = headers
  if (milliseconds !== undefined) return positive(Number(milliseconds))
  if (after === undefined) return undefined
  return positive(/^\d+(\.\d+)?$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now())
}

const positive = (ms: number): number | undefined => (ms > 0 ? ms : undefined)
