import type { PolicyRule } from './policy.ts'

/** The rights of a caller, compiled from all of its policies. */
export interface Acl {
  /** `root`: the `root` policy, which allows everything */
  root: boolean
  /** `rules`: one rule per path text */
  rules: readonly PolicyRule[]
}
