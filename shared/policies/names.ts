import { lowerAscii, toSortedSet } from '../values/names.ts'

export const ROOT_POLICY_NAME = 'root'
export const DEFAULT_POLICY_NAME = 'default'

/** Normalises policy names for comparison: trimmed, lower case, unique and sorted. */
export const normalisePolicySet = (names: readonly string[]): string[] =>
  toSortedSet(names.map(name => lowerAscii(name.trim())))

/**
 * Normalises policy names: trimmed, lower case, unique and sorted; `root` replaces all others. Policy names must be sanitised before
 * they are compared. @see docs/spec/policies.md#names
 */
export function sanitisePolicies(names: readonly string[]): string[] {
  const clean = normalisePolicySet(names)
  return clean.includes(ROOT_POLICY_NAME) ? [ROOT_POLICY_NAME] : clean
}

/** Returns the policies of a token: the given policies, and `default` unless it is suppressed. */
export const addDefaultPolicy = (names: readonly string[], suppressed: boolean): string[] =>
  sanitisePolicies(suppressed ? names : [...names, DEFAULT_POLICY_NAME])

const VISIBLE = '[\\x21-\\x2b\\x2d-\\x39\\x3b-\\x7e]'
const POLICY_NAME = new RegExp(`^${VISIBLE}+(?: +${VISIBLE}+)*$`)

/** Reports whether role tags and policy lists can contain the name. */
export const isPolicyName = (name: string): boolean => POLICY_NAME.test(name)

/** Describes valid policy names. */
export const POLICY_NAMES_TEXT =
  'a policy name may contain visible ASCII characters other than ":" and ",", and spaces except at either end'
