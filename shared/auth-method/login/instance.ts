import { type Refusal, refusal } from '../../api/errors.ts'
import type { Instance } from '../../model/instance.ts'
import type { Role } from '../../model/role.ts'
import {
  type BindingName,
  bindingNames,
  comparedValue,
  type InstanceFacts,
  isBound,
  isMet,
} from '../roles/bindings.ts'
import type { Check } from './checks.ts'

/** An instance as EC2 and IAM know it now. */
export interface InstanceLookUp {
  /** undefined: EC2 knows no such instance */
  instance: Instance | undefined
  /** role behind its profile; looked up only where the role binds it */
  roleArn?: string
}

/** What constraints look at; before EC2 was asked, `instance` is not there. */
export interface BindingCheckFacts extends Partial<InstanceLookUp> {
  roleName: string
  role: Role
  instanceId: string
  account: string
  region: string
}

/** The same once EC2 was asked. */
export type InstanceCheckFacts = BindingCheckFacts & InstanceLookUp

const running: Check<InstanceCheckFacts> = {
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

const boundCheck = (name: BindingName): Check<BindingCheckFacts> => ({
  name,
  applies: ({ role }) => isBound(name, role.bound),
  seen: facts => comparedValue(name, facts.role.bound, factsOf(facts)),
  refuse: facts =>
    isMet(name, facts.role.bound, factsOf(facts))
      ? undefined
      : refusal(`not-${name}`, `instance does not satisfy role "${facts.roleName}": ${name}`),
})

function factsOf({ account, region, instance, instanceId, roleArn }: BindingCheckFacts): InstanceFacts {
  const { state: _, ...seen } = instance ?? { id: instanceId, tags: {}, state: '' }
  return { account, region, instance: roleArn === undefined ? seen : { ...seen, roleArn } }
}

/** Running, and every constraint of the role. @see docs/spec/login-ec2.md#constraints */
export const instanceChecks: readonly Check<InstanceCheckFacts>[] = [running, ...bindingNames.map(boundCheck)]

/** Constraints that need no look-up: a document of the wrong region or account costs no call. */
export const documentChecks: readonly Check<BindingCheckFacts>[] = (
  ['bound_region', 'bound_account_id'] as const
).map(boundCheck)
