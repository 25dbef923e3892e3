/** A rate limit of one action, with a token bucket for each account and region. */
export interface CallRateLimit {
  service: string
  action: string
  /** Tokens added per second. */
  perSecond: number
  /** Maximum number of tokens in a bucket; each bucket starts full. */
  burst: number
  /** By `account/region`. */
  buckets: Map<string, { tokens: number; at: number }>
}

/**
 * Takes one token for a call.
 * @param now milliseconds of a monotonic clock
 * @returns false if a limit is set for the action and its bucket is empty
 */
export function isWithinRateLimits(
  limits: readonly CallRateLimit[],
  call: { service: string; action: string; account: string; region: string },
  now: number,
): boolean {
  const limit = limits.find(one => one.service === call.service && one.action === call.action)
  if (limit === undefined) return true
  const key = `${call.account}/${call.region}`
  const bucket = limit.buckets.get(key) ?? { tokens: limit.burst, at: now }
  const refill = (Math.max(0, now - bucket.at) / 1000) * limit.perSecond
  const tokens = Math.min(limit.burst, bucket.tokens + refill)
  const admitted = tokens >= 1
  limit.buckets.set(key, { tokens: admitted ? tokens - 1 : tokens, at: now })
  return admitted
}

/** Sets the rate limit of an action and replaces an earlier limit. Every bucket starts full. */
export function arrangeRateLimit(limits: CallRateLimit[], limit: Omit<CallRateLimit, 'buckets'>): void {
  const others = limits.filter(one => one.service !== limit.service || one.action !== limit.action)
  limits.splice(0, limits.length, ...others, { ...limit, buckets: new Map() })
}
