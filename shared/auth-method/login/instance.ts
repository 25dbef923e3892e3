import { createRefusal, type Refusal } from '../../api/errors.ts'
import type { Instance } from '../../model/instance.ts'
import type { Role } from '../../model/role.ts'
import {
  type BindingName,
  bindingNames,
  comparedBindingValue,
  type InstanceFacts,
  isBindingMet,
  isBindingSet,
} from '../roles/bindings.ts'
import type { LoginCheck } from './checks.ts'

/** The results of looking up an instance with EC2 and IAM. */
export interface InstanceLookUp {
  /** `instance` is undefined if EC2 does not know the instance */
  instance: Instance | undefined
  /** `roleArn`: role of the instance profile; looked up only if the role binds it */
  roleArn?: string
}

/** The facts that the bindings of a role compare. `instance` is absent before the call to EC2. */
export interface BindingCheckFacts extends Partial<InstanceLookUp> {
  roleName: string
  role: Role
  instanceId: string
  account: string
  region: string
}

/** The facts for the instance checks after the call to EC2. */
export type InstanceCheckFacts = BindingCheckFacts & InstanceLookUp

const running: LoginCheck<InstanceCheckFacts> = {
  name: 'running',
  seen: ({ instance }) => instance?.state ?? null,
  wanted: () => 'running',
  refuse: ({ instance, instanceId }) => findInstanceStateFault(instance, instanceId),
}

/** Returns the refusal for an instance that is not running; undefined if it is running. */
export function findInstanceStateFault(
  instance: Instance | undefined,
  instanceId: string,
): Refusal | undefined {
  const why =
    !instance || instance.id !== instanceId ? 'EC2 knows no such instance' : 'the instance is not running'
  return instance?.id === instanceId && instance.state === 'running'
    ? undefined
    : createRefusal('instance-not-running', `failed to verify the instance ${instanceId}: ${why}`)
}

const boundCheck = (name: BindingName): LoginCheck<BindingCheckFacts> => ({
  name,
  applies: ({ role }) => isBindingSet(name, role.bound),
  seen: facts => comparedBindingValue(name, facts.role.bound, factsOf(facts)),
  wanted: ({ role }) => role.bound[name],
  refuse: facts =>
    isBindingMet(name, facts.role.bound, factsOf(facts))
      ? undefined
      : createRefusal(`not-${name}`, `instance does not satisfy role "${facts.roleName}": ${name}`),
})

function factsOf({ account, region, instance, instanceId, roleArn }: BindingCheckFacts): InstanceFacts {
  const { state: _, ...seen } = instance ?? { id: instanceId, tags: {}, state: '' }
  return { account, region, instance: roleArn === undefined ? seen : { ...seen, roleArn } }
}

/** The checks of an instance: it is running and satisfies each binding. @see docs/spec/login-ec2.md#constraints */
export const instanceChecks: readonly LoginCheck<InstanceCheckFacts>[] = [
  running,
  ...bindingNames.map(boundCheck),
]

/** The bindings that need no look-up, so a document of the wrong region or account causes no AWS call. */
export const documentChecks: readonly LoginCheck<BindingCheckFacts>[] = (
  ['bound_region', 'bound_account_id'] as const
).map(boundCheck)
