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

/** @throws ApiError of the first rule that refuses, with the value it saw for the audit log */
export function enforce<F>(checks: readonly Check<F>[], facts: F): void {
  for (const check of checks) {
    const found = refusedBy(check, facts)
    if (found) refuse(found, { check: check.name, seen: check.seen?.(facts) })
  }
}

/** All verdicts, in order. */
export const report = <F>(checks: readonly Check<F>[], facts: F): Verdict[] =>
  checks.map(check => {
    const seen = check.seen ? { seen: check.seen(facts) ?? null } : {}
    if (check.applies && !check.applies(facts)) return { check: check.name, verdict: 'not required', ...seen }
    const found = check.refuse(facts)
    return found ? { ...failed(check.name, found), ...seen } : { check: check.name, verdict: 'pass', ...seen }
  })

/** The verdict of a rule that refused outside a list of checks. */
export const failed = (check: string, found: Refusal): Verdict => ({
  check,
  verdict: 'fail',
  reason: found.why,
  message: found.code === 'permission_denied' ? 'permission denied' : found.text,
})

const refusedBy = <F>(check: Check<F>, facts: F): Refusal | undefined =>
  check.applies && !check.applies(facts) ? undefined : check.refuse(facts)

/** Turns a refusal into the answer it means. */
export function refuse(found: Refusal, reason: Record<string, unknown> = {}): never {
  throw new ApiError(found.code, found.text, { reason: { why: found.why, ...reason } })
}
