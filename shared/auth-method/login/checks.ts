import { ApiError, type Refusal } from '../../api/errors.ts'

/** One check of a login. The login stops at the first failed check; `explain` reports all checks. */
export interface LoginCheck<F> {
  name: string
  /** Reports whether the role requires the check; default: always. */
  applies?: (facts: F) => boolean
  /** Returns the value that a check compares, for administrators. */
  seen?: (facts: F) => unknown
  /** Returns what the role admits, in the form of `seen`, or as a phrase. Contains no secret. */
  wanted?: (facts: F) => unknown
  refuse: (facts: F) => Refusal | undefined
}

/** The result of one check in the response of `explain`. */
export interface CheckVerdict {
  check: string
  verdict: 'pass' | 'fail' | 'not required'
  seen?: unknown
  /** what the role admits; absent if the check is not required */
  wanted?: unknown
  /** `reason` is the stable name of the failed rule; `message` is the text that a client would get. */
  reason?: string
  message?: string
}

declare const passed: unique symbol

/**
 * Facts that have passed the checks over `F`. Only `enforceChecks` produces this type, so a step that takes the
 * type cannot run before its checks. The mark is invariant, so checks of other facts do not count.
 */
export type WithPassedChecks<F> = F & { readonly [passed]: (facts: F) => F }

/** Runs the checks in order. @throws ApiError for the first failed check, with the check's value for the audit log */
export function enforceChecks<F, G extends F>(
  checks: readonly LoginCheck<F>[],
  facts: G,
): G & WithPassedChecks<F> {
  for (const check of checks) {
    const found = refusedBy(check, facts)
    if (found) throwLoginRefusal(found, { check: check.name, seen: check.seen?.(facts) })
  }
  return facts as G & WithPassedChecks<F>
}

/** Runs all checks and returns their verdicts in order. */
export const reportVerdicts = <F>(checks: readonly LoginCheck<F>[], facts: F): CheckVerdict[] =>
  checks.map(check => {
    const seen = check.seen ? { seen: check.seen(facts) ?? null } : {}
    if (check.applies && !check.applies(facts)) return { check: check.name, verdict: 'not required', ...seen }
    const found = check.refuse(facts)
    const compared = check.wanted ? { ...seen, wanted: check.wanted(facts) } : seen
    return found
      ? { ...createFailedVerdict(check.name, found), ...compared }
      : { check: check.name, verdict: 'pass', ...compared }
  })

/** Builds the verdict of a failed check. */
export const createFailedVerdict = (check: string, found: Refusal): CheckVerdict => ({
  check,
  verdict: 'fail',
  reason: found.why,
  message: found.code === 'permission_denied' ? 'permission denied' : found.text,
})

const refusedBy = <F>(check: LoginCheck<F>, facts: F): Refusal | undefined =>
  check.applies && !check.applies(facts) ? undefined : check.refuse(facts)

/** Builds the error for a missing role. */
export const unknownRoleError = (role: string): ApiError =>
  new ApiError('invalid_request', `no role named "${role}"`, { reason: { why: 'no-role', role } })

/** Throws the ApiError of a refusal. */
export function throwLoginRefusal(found: Refusal, reason: Record<string, unknown> = {}): never {
  throw new ApiError(found.code, found.text, { reason: { why: found.why, ...reason } })
}
