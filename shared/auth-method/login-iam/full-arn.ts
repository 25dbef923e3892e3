import type { Call } from '../../api/call.ts'
import { invalid } from '../../api/errors.ts'
import type { AwsTarget } from '../../ports.ts'
import type { Entity } from '../../values/arn.ts'

interface Known {
  arn: string
  /** epoch milliseconds */
  until: number
}

const FULL_ARN_AGE_MS = 3_600_000
const MOST_KNOWN = 10_000

/**
 * Full ARNs by unique ID, an hour at most: IAM allows some ten look-ups a second for a whole account. Keyed by
 * everything that the look-up depends on, so that neither another account nor a changed STS role or client
 * configuration is answered from here (CVE-2025-11621). Failures are not kept.
 */
const known = new Map<string, Known>()

/**
 * The ARN of a caller's user or role with its path.
 * @throws ApiError when IAM cannot tell, or tells of somebody else
 * @see docs/spec/login-iam.md#principals
 */
export async function fullArnOf(
  call: Call,
  target: AwsTarget,
  entity: Entity,
  uniqueId: string | undefined,
): Promise<string> {
  const type = entity.type === 'assumed-role' ? 'role' : entity.type
  const id = JSON.stringify([
    target.account,
    target.client.version,
    target.assume,
    entity.partition,
    type,
    entity.name,
    uniqueId,
  ])
  const remembered = known.get(id)
  if (remembered && remembered.until > call.now) return remembered.arn
  const found = await call.once(`principal ${id}`, () =>
    call.ports.principals.find(target, { type, name: entity.name }, call.request.deadline),
  )
  const prefix = `arn:${entity.partition}:iam::${entity.account}:${type}/`
  const same = found && (uniqueId === undefined || found.uniqueId === uniqueId)
  const named = found?.arn.startsWith(prefix) && found.arn.endsWith(`/${entity.name}`)
  if (!found || !same || !named)
    throw invalid('the principal could not be looked up', { reason: { why: 'principal-lookup' } })
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(id, { arn: found.arn, until: call.now + FULL_ARN_AGE_MS })
  return found.arn
}
