import { DEFAULT, sanitisePolicies } from '../../policies/names.ts'
import type { TokenParameters } from '../../tokens/terms.ts'

/** Whether a tag's policies are all among the role's; `default` is, unless the role leaves it out. */
export function isWithinRole(
  policies: readonly string[],
  role: Pick<TokenParameters, 'policies' | 'noDefaultPolicy'>,
): boolean {
  const allowed = sanitisePolicies(role.noDefaultPolicy ? role.policies : [...role.policies, DEFAULT])
  return sanitisePolicies(policies).every(name => allowed.includes(name))
}
