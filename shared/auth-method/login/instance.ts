import type { Call } from '../../api/call.ts'
import { ApiError, type Refusal, refusal } from '../../api/errors.ts'
import type { Access, Instance } from '../../ports.ts'
import type { AccountItems } from '../accounts.ts'
import { type BindingName, bindingNames, type InstanceFacts, isBound, isMet, seenOf } from '../bindings.ts'
import type { Role } from '../roles/role.ts'
import type { Check } from './checks.ts'

/** An instance as EC2 and IAM know it now. */
export interface SeenInstance {
  /** undefined: EC2 knows no such instance */
  instance: Instance | undefined
  /** role behind its profile; looked up only where the role binds it */
  roleArn?: string
}

/** What constraints look at; before EC2 was asked, `instance` is not there. */
export interface BoundFacts extends Partial<SeenInstance> {
  roleName: string
  role: Role
  instanceId: string
  account: string
  region: string
}

/** The same once EC2 was asked. */
export type RunningFacts = BoundFacts & SeenInstance

const RETRIES = 2
const RETRY_MS = 500
/** A document or session this young may be ahead of what DescribeInstances tells. */
const YOUNG_SECONDS = 300

/** Names a look-up by all that shapes it: with other settings it is another one. */
export const instanceCall = ({ client, sts }: AccountItems, region: string, role: Role): string =>
  JSON.stringify(['instance', client?.rev, sts?.rev, region, bindsRole(role)])

const bindsRole = (role: Role): boolean => role.bound.bound_iam_role_arn.length > 0

/**
 * Looks an instance up: one call to EC2, one more to IAM where the role binds the instance's role.
 *
 * @param startedAt epoch seconds at which the instance is said to have started; only a young one is asked
 * for again when EC2 does not know it yet
 */
export async function seeInstance(
  call: Call,
  access: Access,
  instanceId: string,
  role: Role,
  startedAt: number,
): Promise<SeenInstance> {
  const instance = await describe(call, access, instanceId, call.now / 1000 - startedAt < YOUNG_SECONDS)
  if (!instance?.profileArn || !bindsRole(role)) return { instance }
  const roleArn = await roleBehind(call, access, instance.profileArn)
  return roleArn === undefined ? { instance } : { instance, roleArn }
}

async function describe(
  call: Call,
  access: Access,
  id: string,
  young: boolean,
): Promise<Instance | undefined> {
  const { instances, clock } = call.ports
  for (let tries = 0; ; tries++) {
    const found = await naming(id, () => instances.describe(access, id, call.request.deadline))
    if (found || !young || tries === RETRIES) return found
    await clock.sleep(RETRY_MS)
  }
}

/** Faults that the caller cannot mend by waiting name the instance they are about. */
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

// Another account may have a profile of the same name: the profile that IAM returns has to be the instance's
// own (CVE-2025-11621).
async function roleBehind(call: Call, access: Access, profileArn: string): Promise<string | undefined> {
  const name = profileArn.slice(profileArn.lastIndexOf('/') + 1)
  const profile = await call.ports.principals.profile(access, name, call.request.deadline)
  return profile?.arn === profileArn && profile.roleArns.length === 1 ? profile.roleArns[0] : undefined
}

const running: Check<RunningFacts> = {
  name: 'running',
  seen: ({ instance }) => instance?.state ?? null,
  refuse: ({ instance, instanceId }) => stateFault(instance, instanceId),
}

/** Why an instance does not count as running; undefined when it does. */
export function stateFault(instance: Instance | undefined, instanceId: string): Refusal | undefined {
  const why = !instance || instance.id !== instanceId ? 'EC2 knows no such instance' : 'it is not running'
  return instance?.id === instanceId && instance.state === 'running'
    ? undefined
    : refusal('instance-not-running', `failed to verify the instance ${instanceId}: ${why}`)
}

const boundCheck = (name: BindingName): Check<BoundFacts> => ({
  name,
  applies: ({ role }) => isBound(name, role.bound),
  seen: facts => seenOf(name, facts.role.bound, factsOf(facts)),
  refuse: facts =>
    isMet(name, facts.role.bound, factsOf(facts))
      ? undefined
      : refusal(`not-${name}`, `instance does not satisfy role "${facts.roleName}": ${name}`),
})

function factsOf({ account, region, instance, instanceId, roleArn }: BoundFacts): InstanceFacts {
  const { state: _, ...seen } = instance ?? { id: instanceId, tags: {}, state: '' }
  return { account, region, instance: roleArn === undefined ? seen : { ...seen, roleArn } }
}

/** Running, and every constraint of the role. @see docs/spec/login-ec2.md#constraints */
export const instanceChecks: readonly Check<RunningFacts>[] = [running, ...bindingNames.map(boundCheck)]

/** Constraints that need no look-up: a document of the wrong region or account costs no call. */
export const documentChecks: readonly Check<BoundFacts>[] = (
  ['bound_region', 'bound_account_id'] as const
).map(boundCheck)
