import type { WireSettings } from '../environment.ts'
import { endpointOf, type WireService } from './endpoint.ts'
import { type WireAnswer, wire } from './post.ts'
import { createSigner, type SigningKey } from './sign.ts'

/** Credentials, as they are at the moment of signing. */
export type KeySource = () => SigningKey | Promise<SigningKey>

/** Sends a body to a service with headers of its protocol. @param ms after which it is given up */
export type SignedPost = (headers: Record<string, string>, body: string, ms: number) => Promise<WireAnswer>

/** A clock that is off by so much makes signatures that services refuse. */
const SKEW_MS = 240_000

const AGENT = 'cloud-auth'

export interface Destination {
  service: WireService
  settings: WireSettings
  credentials: KeySource
}

/**
 * Signed POSTs to a service. When one is refused and the service's clock proves to be another, it is signed and sent
 * once more by that clock, and so is all that follows. What is refused for its signature was not done.
 */
export function createSignedPost({ service, settings, credentials }: Destination): SignedPost {
  const address = endpointOf(service, settings)
  const { host, path } = address
  const sign = createSigner(service, settings.region)
  let offset = 0

  async function once(headers: Record<string, string>, body: string, ms: number): Promise<WireAnswer> {
    const by = await credentials()
    const all = sign({ host, path, headers, body }, by, Date.now() + offset)
    all['user-agent'] = AGENT
    return wire.post(address, all, body, ms)
  }

  return async (headers, body, ms) => {
    const until = performance.now() + ms
    const answer = await once(headers, body, ms)
    const other = readServiceClock(answer)
    if (other === undefined || Math.abs(other - (Date.now() + offset)) < SKEW_MS) return answer
    offset = other - Date.now()
    return once(headers, body, Math.max(1, until - performance.now()))
  }
}

/** The service's clock when it refused a request, epoch milliseconds. What came from a cache says nothing. */
function readServiceClock({ status, headers }: WireAnswer): number | undefined {
  if (status < 400 || status >= 500 || headers.age !== undefined) return undefined
  const at = Date.parse(headers.date ?? '')
  return Number.isNaN(at) ? undefined : at
}

/** When a service wants to be asked again, milliseconds from now. */
export function parseRetryAfter({ headers }: Pick<WireAnswer, 'headers'>): number | undefined {
  const { 'retry-after': after, 'x-amz-retry-after': milliseconds } = headers
  if (milliseconds !== undefined) return positive(Number(milliseconds))
  if (after === undefined) return undefined
  return positive(/^\d+(\.\d+)?$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now())
}

const positive = (ms: number): number | undefined => (ms > 0 ? ms : undefined)
