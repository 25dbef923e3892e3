import { isIn, matchesAny } from '../values/pattern.ts'

/** What the constraints of a role look at: an instance, and what its document or its principal's ARN says. */
export interface InstanceFacts {
  /** 12 digits, from the document or the caller's ARN */
  account: string
  /** of the document, or the inferred region */
  region: string
  instance: {
    id: string
    amiId?: string
    vpcId?: string
    subnetId?: string
    profileArn?: string
    /** role behind the instance profile; looked up only where a role binds it */
    roleArn?: string
  }
}

interface Binding {
  doc: string
  seen: (facts: InstanceFacts) => string | undefined
  meets: (bound: readonly string[], value: string | undefined) => boolean
}

/**
 * The constraints on instances, in the order in which they are checked. Adding one is one line: the role's
 * field, its read-back, its applicability and its check follow from it.
 * @see interface 2.6, auth-behaviour 4.2.6
 */
export const bindings = {
  bound_region: { doc: 'Regions', seen: f => f.region, meets: isIn },
  bound_ec2_instance_id: { doc: 'Instance IDs', seen: f => f.instance.id, meets: isIn },
  bound_account_id: { doc: 'Account IDs', seen: f => f.account, meets: isIn },
  bound_ami_id: { doc: 'AMI IDs', seen: f => f.instance.amiId, meets: isIn },
  bound_subnet_id: { doc: 'Subnet IDs', seen: f => f.instance.subnetId, meets: isIn },
  bound_vpc_id: { doc: 'VPC IDs', seen: f => f.instance.vpcId, meets: isIn },
  bound_iam_instance_profile_arn: {
    doc: 'Instance profile ARNs, with a trailing wildcard if wanted',
    seen: f => f.instance.profileArn,
    meets: matchesAny,
  },
  bound_iam_role_arn: {
    doc: 'ARNs of the IAM role of the instance, with a trailing wildcard if wanted',
    seen: f => f.instance.roleArn,
    meets: matchesAny,
  },
} as const satisfies Record<string, Binding>

export type BindingName = keyof typeof bindings

export const bindingNames = Object.keys(bindings) as BindingName[]

/** Values by constraint; an empty list binds nothing. */
export type Bound = Readonly<Record<BindingName, readonly string[]>>

/** Whether a role's constraint holds. */
export const isMet = (name: BindingName, bound: Bound, facts: InstanceFacts): boolean =>
  bindings[name].meets(bound[name], bindings[name].seen(facts))

export const unbound: Bound = Object.fromEntries(bindingNames.map(name => [name, []])) as unknown as Bound
