import { createRefusal, type Refusal } from '../api/errors.ts'
import { failed, ok, type Result } from '../values/result.ts'

/** The limits of a token's lifetime, in seconds; 0 means unset. */
export interface TokenLifetimeRequest {
  /** TTL requested by a renewal */
  increment: number
  ttl: number
  period: number
  /** limit of the role, or of the role and its role tag */
  methodMax: number
  explicitMax: number
}

export interface MountTtlLimits {
  default: number
  max: number
}

export interface GrantedTokenLifetime {
  /** seconds from now */
  ttl: number
  warnings: string[]
}

/**
 * Computes the TTL of a token at creation or renewal. The remaining maximum is rounded down to whole seconds, so that no renewal
 * exceeds it.
 *
 * @param issuedAt epoch milliseconds of the token's creation
 * @param now epoch milliseconds
 * @see docs/spec/tokens.md#lifetime
 */
export function computeTokenLifetime(
  wish: TokenLifetimeRequest,
  mount: MountTtlLimits,
  issuedAt: number,
  now: number,
): Result<GrantedTokenLifetime, Refusal> {
  const max = smallest(mount.max, wish.methodMax, wish.explicitMax)
  const warnings: string[] = []
  const capped = (wanted: number, limit: number, what: string): number => {
    if (wanted > limit)
      warnings.push(`the ${what} (${wanted} s) exceeds the maximum; it was reduced to ${limit} s`)
    return Math.min(wanted, limit)
  }
  const wanted =
    wish.period > 0
      ? capped(wish.period, max, 'period')
      : wish.increment || wish.ttl || Math.min(mount.default, max)
  const limit = wish.period > 0 ? wish.explicitMax : max
  if (limit === 0) return ok({ ttl: wanted, warnings })
  const left = Math.floor((issuedAt + limit * 1000 - now) / 1000)
  if (left <= 0)
    return failed(createRefusal('maximum-lifetime', 'the maximum lifetime of the token is reached'))
  return ok({ ttl: capped(wanted, left, 'lifetime'), warnings })
}

const smallest = (mountMax: number, ...others: number[]): number =>
  Math.min(mountMax, ...others.filter(other => other > 0))
