import type { MetricMeasures } from './metrics.ts'

/** The kind of a login and its mount. */
export interface LoginAttempt {
  type: 'ec2' | 'iam' | 'jwt' | 'none'
  /** path of the mount; absent: there is no such mount */
  mount?: string | undefined
}

/** The fields of an error by which refused logins are classified. */
export interface LoginFailure {
  /** HTTP status of the answer */
  status: number
  /** name of the rule that refused the login; names never change */
  why?: unknown
  /** the AWS service whose call failed; absent: none failed */
  service?: unknown
}

/** Rules that check the role, by the beginning of their names. All other rules check the proof of identity. */
const OF_ROLES =
  /^(?:no-role|not-bound_|principal-|instance-|role-|root-policy|no-alias|no-instance|no-session-end|claims-too-large|maximum-lifetime|source-address|entity-|nonce-|session-|reauthentication-|document-older|entry-damaged|no-sts-role)/

/**
 * Dimensions of the login metrics. The dimensions of the login metrics have few values, because CloudWatch bills
 * every combination.
 */
export interface LoginDimensions {
  outcome: 'granted' | 'refused' | 'failed'
  reason: 'none' | 'proof' | 'role' | 'aws' | 'service'
}

/** Returns the dimensions of a login. Reason `aws`: a call to AWS failed. `service`: this service failed. */
export function classifyLoginResult(fault: LoginFailure | undefined): LoginDimensions {
  if (!fault) return { outcome: 'granted', reason: 'none' }
  if (fault.service !== undefined) return { outcome: 'failed', reason: 'aws' }
  if (fault.status >= 500) return { outcome: 'failed', reason: 'service' }
  return { outcome: 'refused', reason: OF_ROLES.test(String(fault.why)) ? 'role' : 'proof' }
}

/** Guesses the type of login from the parameters, even if they are incomplete. */
export const guessLoginType = (parameters: Readonly<Record<string, unknown>>): LoginAttempt['type'] => {
  const has = (field: string): boolean => parameters[field] !== undefined
  if (parameters['jwt']) return 'jwt'
  if (has('pkcs7') || has('identity')) return 'ec2'
  return has('iam_http_request_method') || has('iam_request_url') ? 'iam' : 'none'
}

/** Returns the metrics of one login. @param milliseconds its duration */
export const measureLoginLatency = (milliseconds: number): MetricMeasures => ({
  Logins: 1,
  LoginLatency: milliseconds,
})

const SERVICES = { ec2: 'Ec2', iam: 'Iam', sts: 'Sts', oidc: 'Oidc' } as const
const FAULTS = { throttled: 'Throttles', failed: 'Failures' } as const

/** Returns the name under which a request counts failed calls to an AWS service. */
export const faultCounterName = (service: string, fault: keyof typeof FAULTS): string => `${service} ${fault}`

/** Returns the metrics of the failed AWS calls of a request. */
export function countProviderFaults(calls: Readonly<Record<string, number>>): MetricMeasures {
  const measures: MetricMeasures = {}
  for (const service of Object.keys(SERVICES) as (keyof typeof SERVICES)[])
    for (const fault of Object.keys(FAULTS) as (keyof typeof FAULTS)[]) {
      const count = calls[faultCounterName(service, fault)]
      if (count !== undefined) measures[`${SERVICES[service]}${FAULTS[fault]}`] = count
    }
  return measures
}
