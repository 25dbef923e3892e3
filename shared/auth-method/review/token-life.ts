import { defaultTtlOfMount, type Mount, maxTtlOfMount } from '../../model/mount.ts'
import type { Role } from '../../model/role.ts'
import { chooseTokenType } from '../login/outcome.ts'

/** Seconds after which AWS ends the session of a role. */
const LONGEST_SESSION = 12 * 3600

/**
 * Returns the longest life of a role's tokens in seconds, with all renewals. For a periodic token it returns the period:
 * the token ends one period after its last renewal.
 */
export function longestTokenSeconds(
  { token, capToSession }: Pick<Role, 'token' | 'capToSession'>,
  mount: Pick<Mount, 'tokenType' | 'defaultLeaseTtl' | 'maxLeaseTtl'>,
): number {
  const limits = [
    maxTtlOfMount(mount),
    token.maxTtl,
    token.explicitMaxTtl,
    capToSession ? LONGEST_SESSION : 0,
  ]
  const max = Math.min(...limits.filter(limit => limit > 0))
  if (token.period > 0) return Math.min(token.period, max)
  const isBatch = chooseTokenType(token.type, mount) === 'batch'
  return isBatch ? Math.min(token.ttl || defaultTtlOfMount(mount), max) : max
}
