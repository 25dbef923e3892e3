import * as v from 'valibot'

const DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
]
const days = (fallback: number) =>
  v.optional(
    v.pipe(
      v.number(),
      v.check(value => DAYS.includes(value), `must be one of ${DAYS.join(', ')}`),
    ),
    fallback,
  )
const wholeNumber = v.pipe(v.number(), v.integer(), v.minValue(1))

const ROLE_PATTERN = /^arn:(?:\*|aws[a-z-]*):iam::(?:\*|\d{12}):role\/[\w+=,.@/*-]+$/

/**
 * Settings of one deployment: the object `settings` of cdk.json's context, or `-c settings='{…}'`.
 * Unknown names are refused, and all faults are reported together.
 */
const schema = v.strictObject({
  /** distinguishes deployments in one account; part of every stack's name */
  stage: v.pipe(
    v.string(),
    v.regex(/^[a-z][a-z0-9-]{0,19}$/, 'must be lower-case letters, digits and dashes'),
  ),
  /** name of the cluster as health and status show it; default `cloud-auth-<stage>` */
  clusterName: v.optional(
    v.pipe(v.string(), v.regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"')),
  ),
  /** tables and key are kept when a stack is deleted, and cannot be deleted by mistake */
  deletionProtection: v.optional(v.boolean(), true),
  /** logs of functions and access log */
  logRetentionDays: days(30),
  /** the audit log */
  auditRetentionDays: days(365),
  /** trust the built-in DSA and RSA-1024 certificates, and SHA-1 */
  legacySignatures: v.optional(v.boolean(), false),
  /** roles of satellite accounts that this deployment may assume */
  assumableRoleArns: v.optional(
    v.array(v.pipe(v.string(), v.regex(ROLE_PATTERN, 'must be a role ARN, with "*" where it may vary'))),
    ['arn:*:iam::*:role/cloud-auth-*'],
  ),
  /** address of the API when it has a domain of its own; default: the one that API Gateway gives */
  apiAddress: v.optional(v.pipe(v.string(), v.url(), v.startsWith('https://'))),
  /** requests per second, and burst, that the API takes in all */
  throttle: v.optional(v.strictObject({ rate: wholeNumber, burst: wholeNumber })),
  /** environments kept free for logins, so that nothing else can starve them */
  loginConcurrency: v.optional(wholeNumber),
  /** memory of functions, MB; processor time grows with it */
  memory: v.optional(v.pipe(wholeNumber, v.minValue(256), v.maxValue(10_240)), 1024),
})

export type Settings = Omit<v.InferOutput<typeof schema>, 'clusterName'> & { clusterName: string }

/** @throws Error naming every fault */
export function readSettings(given: unknown): Settings {
  const read = v.safeParse(schema, typeof given === 'string' ? parseText(given) : given)
  if (!read.success) {
    const faults = read.issues.map(issue => `  ${v.getDotPath(issue) ?? 'settings'}: ${issue.message}`)
    throw new Error(`the settings are not usable:\n${faults.join('\n')}`)
  }
  return { ...read.output, clusterName: read.output.clusterName ?? `cloud-auth-${read.output.stage}` }
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('the settings are not usable:\n  settings: not valid JSON')
  }
}
