import { lowerAscii, sortedSet } from '../values/names.ts'

export const ROOT = 'root'
export const DEFAULT = 'default'

/**
 * Policy names as they count: trimmed, lower-cased, without repetitions, sorted; `root` swallows the rest.
 * Every comparison of policy names is made between sanitised ones. @see auth-behaviour 2, T-39
 */
export function sanitisePolicies(names: readonly string[]): string[] {
  const clean = sortedSet(names.map(name => lowerAscii(name.trim())))
  return clean.includes(ROOT) ? [ROOT] : clean
}

/** The policies a token gets: the given ones, with `default` unless that is suppressed. */
export const withDefault = (names: readonly string[], suppressed: boolean): string[] =>
  sanitisePolicies(suppressed ? names : [...names, DEFAULT])

/** Whether a name can be carried by role tags and policies alike: visible ASCII without `:` and `,`. */
export const isPolicyName = (name: string): boolean => /^[\x21-\x2b\x2d-\x39\x3b-\x7e]+$/.test(name)
