import { ApiError, type Refusal } from '../../api/errors.ts'

/**
 * One rule of a login. The same lists serve the login, which stops at the first refusal, and `explain`,
 * which reports them all.
 */
export interface Check<F> {
  name: string
  /** whether the role asks for it at all; absent: always */
  applies?: (facts: F) => boolean
  /** the value that was compared, for administrators */
  seen?: (facts: F) => unknown
  refuse: (facts: F) => Refusal | undefined
}

/** What `explain` says about one rule. */
export interface Verdict {
  check: string
  verdict: 'pass' | 'fail' | 'not required'
  seen?: unknown
  /** stable name of the rule that refused, and the text a caller would read */
  reason?: string
  message?: string
}

declare const passed: unique symbol

/**
 * Facts that the rules over `F` have let through. Only `enforce` makes them: a step that takes nothing else cannot be
 * reached where a check was forgotten. The mark is invariant, so that rules over other facts do not stand in.
 */
export type Passed<F> = F & { readonly [passed]: (facts: F) => F }

/** @throws ApiError of the first rule that refuses, with the value it saw for the audit log */
export function enforce<F, G extends F>(checks: readonly Check<F>[], facts: G): G & Passed<F> {
  for (const check of checks) {
    const found = refusedBy(check, facts)
    if (found) refuse(found, { check: check.name, seen: check.seen?.(facts) })
  }
  return facts as G & Passed<F>
}

/** All verdicts, in order. */
export const reportVerdicts = <F>(checks: readonly Check<F>[], facts: F): Verdict[] =>
  checks.map(check => {
    const seen = check.seen ? { seen: check.seen(facts) ?? null } : {}
    if (check.applies && !check.applies(facts)) return { check: check.name, verdict: 'not required', ...seen }
    const found = check.refuse(facts)
    return found
      ? { ...failVerdict(check.name, found), ...seen }
      : { check: check.name, verdict: 'pass', ...seen }
  })

/** The verdict of a rule that refused outside a list of checks. */
export const failVerdict = (check: string, found: Refusal): Verdict => ({
  check,
  verdict: 'fail',
  reason: found.why,
  message: found.code === 'permission_denied' ? 'permission denied' : found.text,
})

const refusedBy = <F>(check: Check<F>, facts: F): Refusal | undefined =>
  check.applies && !check.applies(facts) ? undefined : check.refuse(facts)

/** The refusal of a login for which there is no role. */
export const noRoleError = (role: string): ApiError =>
  new ApiError('invalid_request', `no role named "${role}"`, { reason: { why: 'no-role', role } })

/** Turns a refusal into the answer it means. */
export function refuse(found: Refusal, reason: Record<string, unknown> = {}): never {
  throw new ApiError(found.code, found.text, { reason: { why: found.why, ...reason } })
}
