import { lowerAscii, sortedSet } from '../values/names.ts'

export const ROOT = 'root'
export const DEFAULT = 'default'

/** Policy names as they are compared: trimmed, lower-cased, without repetitions, sorted. */
export const policySet = (names: readonly string[]): string[] =>
  sortedSet(names.map(name => lowerAscii(name.trim())))

/**
 * Policy names as they count: trimmed, lower-cased, without repetitions, sorted; `root` swallows the rest.
 * Every comparison of policy names is made between sanitised ones. @see docs/spec/policies.md#names
 */
export function sanitisePolicies(names: readonly string[]): string[] {
  const clean = policySet(names)
  return clean.includes(ROOT) ? [ROOT] : clean
}

/** The policies a token gets: the given ones, with `default` unless that is suppressed. */
export const withDefault = (names: readonly string[], suppressed: boolean): string[] =>
  sanitisePolicies(suppressed ? names : [...names, DEFAULT])

const VISIBLE = '[\\x21-\\x2b\\x2d-\\x39\\x3b-\\x7e]'
const POLICY_NAME = new RegExp(`^${VISIBLE}+(?: +${VISIBLE}+)*$`)

/** Whether a name can be carried by role tags and lists of policies alike. */
export const isPolicyName = (name: string): boolean => POLICY_NAME.test(name)

/** What makes a name, in words. */
export const POLICY_NAMES =
  'a policy name may hold visible ASCII characters other than ":" and ",", and blanks inside'
