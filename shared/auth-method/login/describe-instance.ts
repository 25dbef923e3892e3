import type { AwsQuestion, Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import type { Instance } from '../../model/instance.ts'
import type { Role } from '../../model/role.ts'
import type { AwsTarget } from '../../ports.ts'
import { ok, PENDING_RESULT } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { type AwsAccountAccess, createAccountQuestion } from '../config/accounts.ts'
import type { InstanceLookUp } from './instance.ts'

const TRIES = 3
const YOUNG_INSTANCE_PAUSE_MS = 500
/** Instances younger than this may be missing from DescribeInstances, because EC2 is eventually consistent. */
const YOUNG_SECONDS = 300

const bindsRole = (role: Role): boolean => role.bound.bound_iam_role_arn.length > 0

/** The instance to describe. */
interface AskedInstance {
  id: string
  role: Role
  /** start of the instance, epoch seconds; the look-up is retried only for a young instance that EC2 does not return yet */
  startedAt: number
}

/** Builds the question about an instance: one call to EC2, and one to IAM if the role binds the instance's role. */
export const createInstanceQuestion = (
  call: Call,
  access: AwsAccountAccess,
  asked: AskedInstance,
): AwsQuestion<InstanceLookUp> =>
  createAccountQuestion(access, ['instance', asked.id, bindsRole(asked.role)], call.ports.cipher, target =>
    describeInstance(call, target, asked),
  )

async function describeInstance(
  call: Call,
  target: AwsTarget,
  { id, role, startedAt }: AskedInstance,
): Promise<InstanceLookUp> {
  const instance = await describe(call, target, id, call.now / 1000 - startedAt < YOUNG_SECONDS)
  if (!instance?.profileArn || !bindsRole(role)) return { instance }
  const roleArn = await roleBehind(call, target, instance.profileArn)
  return roleArn === undefined ? { instance } : { instance, roleArn }
}

async function describe(
  call: Call,
  target: AwsTarget,
  id: string,
  young: boolean,
): Promise<Instance | undefined> {
  const { instances, clock } = call.ports
  const found = await retryOnConflict(
    { tries: young ? TRIES : 1, pause: () => clock.sleep(YOUNG_INSTANCE_PAUSE_MS) },
    async () => {
      const instance = await naming(id, () => instances.describe(target, id, call.request.deadline))
      return instance ? ok(instance) : PENDING_RESULT
    },
  )
  return found.ok ? found.value : undefined
}

/** Adds the instance ID to errors that the caller cannot resolve by retrying. */
async function naming<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_request') throw error
    throw new ApiError('invalid_request', `failed to verify the instance ${id}: ${error.message}`, {
      cause: error,
      reason: error.reason ?? { why: 'instance-lookup' },
    })
  }
}

// Another account may have a profile of the same name, so the ARN that IAM returns must equal the instance's profile ARN (CVE-2025-11621).
async function roleBehind(call: Call, target: AwsTarget, profileArn: string): Promise<string | undefined> {
  const name = profileArn.slice(profileArn.lastIndexOf('/') + 1)
  const profile = await call.ports.principals.profile(target, name, call.request.deadline)
  return profile?.arn === profileArn && profile.roleArns.length === 1 ? profile.roleArns[0] : undefined
}
