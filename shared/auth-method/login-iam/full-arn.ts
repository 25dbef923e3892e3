import type { AskAws, Call } from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import type { IamEntity } from '../../values/arn.ts'
import { type AwsAccountAccess, createAccountQuestion } from '../config/accounts.ts'

interface Known {
  arn: string
  /** expiry, epoch milliseconds */
  until: number
}

const FULL_ARN_AGE_MS = 3_600_000
const MOST_KNOWN = 10_000

/**
 * Full ARNs by question key, kept for at most an hour, because IAM allows about ten requests per second per
 * account. The key covers the account and the revisions of its settings, so a cached ARN never answers for another
 * account or changed settings (CVE-2025-11621). Failures of the look-up are not cached.
 */
const known = new Map<string, Known>()

/**
 * Returns the full ARN of a caller's user or role, from the cache or from IAM.
 * @throws ApiError if IAM does not find the principal, or returns another principal
 * @see docs/spec/login-iam.md#principals
 */
export async function findFullPrincipalArn(
  call: Call,
  access: AwsAccountAccess,
  { type: entityType, partition, account, name }: IamEntity,
  uniqueId: string | undefined,
  ask: AskAws,
): Promise<string> {
  const { principals, cipher } = call.ports
  const type = entityType === 'assumed-role' ? 'role' : entityType
  const subject = ['full ARN', partition, type, name, uniqueId]
  const question = createAccountQuestion(access, subject, cipher, target =>
    principals.find(target, { type, name }, call.request.deadline),
  )
  const remembered = known.get(question.key)
  if (remembered && remembered.until > call.now) return remembered.arn
  const found = await ask(question)
  const same = found && (uniqueId === undefined || found.uniqueId === uniqueId)
  const named =
    found?.arn.startsWith(`arn:${partition}:iam::${account}:${type}/`) && found.arn.endsWith(`/${name}`)
  if (!found || !same || !named)
    throw invalidRequestError('the principal could not be looked up', { reason: { why: 'principal-lookup' } })
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(question.key, { arn: found.arn, until: call.now + FULL_ARN_AGE_MS })
  return found.arn
}
