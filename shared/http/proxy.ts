import { timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import type { FrontProxy } from '../ports.ts'
import { sha256 } from '../values/secret.ts'

/** The header that the proxy always sets, overwriting the client's value. */
const ORIGIN_SECRET = 'x-origin-secret'

/** Maximum length of the address chain, characters. */
const LONGEST_CHAIN = 4096

/**
 * Returns the client address behind the proxy. The function uses only the entries that trusted proxies appended;
 * clients can forge the other entries.
 * @param peer address of the front end's peer, as the front end reports it
 * @throws ApiError `misdirected` without a valid proxy secret; `invalid_request` if the chain has no address at that position
 * @see docs/spec/transport.md#behind-a-proxy
 */
export function clientAddress(
  { secretHashes, hops }: FrontProxy,
  headers: Readonly<Record<string, string>>,
  peer: string,
): string {
  if (!isKnown(headers[ORIGIN_SECRET] ?? '', secretHashes)) throw new ApiError('misdirected')
  const chain = headers['x-forwarded-for'] ?? ''
  const named = chain.length > LONGEST_CHAIN ? [] : chain.split(',').map(one => one.trim())
  // an HTTP API appends its own peer, which is the last proxy
  if (named.at(-1) === peer) named.pop()
  const address = named.at(-hops) ?? ''
  if (!isAddress(address))
    throw invalidRequestError(
      `X-Forwarded-For: entry ${hops} from its end must be the address of the caller, as the proxy appends it: see the setting proxy.hops`,
    )
  return address
}

/**
 * Checks the peer address that a load balancer appended.
 * @throws ApiError `invalid_request` if the text is not an address: the balancer does not append, or the function
 * was invoked directly
 */
export function checkPeerAddress(appended: string): string {
  if (isAddress(appended)) return appended
  throw invalidRequestError(
    'X-Forwarded-For: its last entry must be the address of the caller, without a port',
  )
}

const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')

/** Reports whether the proxy's secret is known. Compares every hash, so that the time reveals nothing. */
const isKnown = (given: string, hashes: readonly string[]): boolean =>
  hashes.map(hash => timingSafeEqual(sha256(given), Buffer.from(hash, 'hex'))).some(isEqual => isEqual)
