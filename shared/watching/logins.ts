import type { Measures } from './metrics.ts'

/** What a login came to. */
export interface LoginAttempt {
  type: 'ec2' | 'iam' | 'none'
  /** path of the mount; absent: none of that name is known */
  mount?: string | undefined
}

/** What went wrong with a request, as far as it tells classes of refusals apart. */
export interface LoginFault {
  /** of the answer */
  status: number
  /** stable name of the rule that refused */
  why?: unknown
  /** of AWS, that failed; absent: none did */
  service?: unknown
}

/** Rules of roles, by the beginnings of their names; every other refusal is one of the proof. */
const OF_ROLES =
  /^(?:no-role|not-bound_|principal-|instance-|role-|root-policy|no-alias|maximum-lifetime|source-address|entity-|nonce-|session-|reauthentication-|document-older|entry-damaged|no-sts-role)/

/** Members of a login's line by which its metrics are told apart: few values each, for every combination is paid for. */
export interface LoginDimensions {
  outcome: 'granted' | 'refused' | 'failed'
  reason: 'none' | 'proof' | 'role' | 'aws' | 'service'
}

/** `aws`: a service of AWS, `service`: this one. */
export function classifyLogin(fault: LoginFault | undefined): LoginDimensions {
  if (!fault) return { outcome: 'granted', reason: 'none' }
  if (fault.service !== undefined) return { outcome: 'failed', reason: 'aws' }
  if (fault.status >= 500) return { outcome: 'failed', reason: 'service' }
  return { outcome: 'refused', reason: OF_ROLES.test(String(fault.why)) ? 'role' : 'proof' }
}

/** Which type of login the parameters look like, whether they make one or not. */
export const guessLoginType = (given: Readonly<Record<string, unknown>>): LoginAttempt['type'] => {
  const has = (field: string): boolean => given[field] !== undefined
  if (has('pkcs7') || has('identity')) return 'ec2'
  return has('iam_http_request_method') || has('iam_request_url') ? 'iam' : 'none'
}

/** Of one login. @param milliseconds that it took */
export const measureLogin = (milliseconds: number): Measures => ({ Logins: 1, LoginLatency: milliseconds })

const SERVICES = { ec2: 'Ec2', iam: 'Iam', sts: 'Sts' } as const
const FAULTS = { throttled: 'Throttles', failed: 'Failures' } as const

/** What a call to AWS that went wrong is counted as, among the calls of a request. */
export const faultCounterName = (service: string, fault: keyof typeof FAULTS): string => `${service} ${fault}`

/** Of the calls to AWS that a request made, those that went wrong. */
export function countProviderFaults(calls: Readonly<Record<string, number>>): Measures {
  const measures: Measures = {}
  for (const service of Object.keys(SERVICES) as (keyof typeof SERVICES)[])
    for (const fault of Object.keys(FAULTS) as (keyof typeof FAULTS)[]) {
      const count = calls[faultCounterName(service, fault)]
      if (count !== undefined) measures[`${SERVICES[service]}${FAULTS[fault]}`] = count
    }
  return measures
}
