import { timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import { ApiError, invalid } from '../api/errors.ts'
import type { FrontProxy } from '../ports.ts'
import { sha256 } from '../values/secret.ts'

/** The header that the proxy sets, whatever its caller sent. */
const ORIGIN_SECRET = 'x-origin-secret'

/** Longest chain of addresses that is looked at, characters. */
const LONGEST_CHAIN = 4096

/**
 * The address of the caller behind the proxy. Only entries that trusted proxies appended are looked at: what the caller
 * put before them has no say.
 * @param peer who called the front end, as the front end knows
 * @throws ApiError `misdirected` without a secret of the proxy; `invalid_request` where the chain names no address there
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
  // an HTTP API appends its own peer, which is the last of the proxies
  if (named.at(-1) === peer) named.pop()
  const address = named.at(-hops) ?? ''
  if (!isAddress(address))
    throw invalid(
      `X-Forwarded-For: entry ${hops} from its end must be the address of the caller, as the proxy appends it: see the setting proxy.hops`,
    )
  return address
}

/**
 * Who called a load balancer, by the entry that it appended itself.
 * @throws ApiError `invalid_request` where that is no address: then the balancer does not append, or somebody else invoked
 */
export function checkPeer(appended: string): string {
  if (isAddress(appended)) return appended
  throw invalid('X-Forwarded-For: its last entry must be the address of the caller, without a port')
}

const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')

/** Every hash is compared, so that the time does not tell which one is near. */
const isKnown = (given: string, hashes: readonly string[]): boolean =>
  hashes.map(hash => timingSafeEqual(sha256(given), Buffer.from(hash, 'hex'))).some(isEqual => isEqual)
