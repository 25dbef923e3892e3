import type { Rule } from './policy.ts'

/** What a caller may do, compiled from all of its policies. */
export interface Acl {
  /** the `root` policy: everything */
  root: boolean
  /** one rule per path text */
  rules: readonly Rule[]
}
