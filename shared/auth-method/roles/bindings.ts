import { listField, listMapField, type ParameterField } from '../../api/fields.ts'
import type { Instance } from '../../model/instance.ts'
import { isInConfiguredList, matchesAnyPattern } from '../../values/pattern.ts'

/** The facts that a role's bindings compare: the instance, and the account and region of its document or principal. */
export interface InstanceFacts {
  /** 12 digits, from the document or the caller's ARN */
  account: string
  /** region of the document, or the inferred region */
  region: string
  instance: Pick<Instance, 'id'> &
    Partial<Omit<Instance, 'state'>> & {
      /** role of the instance profile; looked up only if a role binds it */
      roleArn?: string
    }
}

/**
 * A binding of a role: its field, the value with which the field is compared, and the comparison. `B` is the stored
 * form of a binding, `F` are the facts that it compares.
 */
export interface Binding<B, F = InstanceFacts> {
  field: ParameterField<unknown>
  neutral: B
  /** Returns the stored form of a binding's value. */
  store(given: B): B
  /** Returns why a value must not be stored; undefined if the value may be stored. */
  fault?(bound: B): string | undefined
  /** Returns the value that a binding compares, for administrators. */
  seen(facts: F, bound: B): unknown
  meets(bound: B, facts: F): boolean
}

export type List = readonly string[]
export type Lists = Readonly<Record<string, List>>

const unique = (values: List): List => [...new Set(values)]

/** Builds a binding that holds if the compared value is in the list. */
export const anyOf = <F = InstanceFacts>(
  doc: string,
  seen: (facts: F) => string | undefined,
  matches: typeof isInConfiguredList = isInConfiguredList,
): Binding<List, F> => ({
  field: listField(`${doc}; one of the values must match`),
  neutral: [],
  store: unique,
  seen,
  meets: (bound, facts) => matches(bound, seen(facts)),
})

const LONGEST_TAG_KEY = 128

/** Builds a binding that holds if, for each listed key, the compared tags have one of the key's values. */
export const everyKey = <F = InstanceFacts>(
  name: string,
  doc: string,
  seen: (facts: F) => Readonly<Record<string, string>>,
): Binding<Lists, F> => {
  const valueAt = (facts: F, key: string) => (Object.hasOwn(seen(facts), key) ? seen(facts)[key] : undefined)
  return {
    field: listMapField(doc),
    neutral: {},
    store: given => Object.fromEntries(Object.entries(given).map(([key, values]) => [key, unique(values)])),
    fault: bound => {
      const [key, values] =
        Object.entries(bound).find(([key, values]) => values.length === 0 || key.length > LONGEST_TAG_KEY) ??
        []
      if (key === undefined) return undefined
      return values?.length === 0
        ? `${name}: "${key}" has no values and nothing would match it; leave the key out, or give ["*"] for any value, [""] for the empty one`
        : `${name}: a key must not be longer than ${LONGEST_TAG_KEY} characters`
    },
    // tags that the role does not list stay private
    seen: (facts, bound) =>
      Object.fromEntries(Object.keys(bound).map(key => [key, valueAt(facts, key) ?? null])),
    meets: (bound, facts) =>
      Object.entries(bound).every(([key, values]) => matchesAnyPattern(values, valueAt(facts, key))),
  }
}

/**
 * The bindings of instances, in the order of their checks. To add a binding, add a line: the binding's field,
 * response and check follow. The compiler then requires the form of the new binding's values in `forms.ts`.
 * @see docs/spec/login-ec2.md#constraints
 */
export const instanceBindings = {
  bound_region: anyOf('Regions', f => f.region),
  bound_ec2_instance_id: anyOf('Instance IDs', f => f.instance.id),
  bound_account_id: anyOf('Account IDs', f => f.account),
  bound_ami_id: anyOf('AMI IDs', f => f.instance.amiId),
  bound_subnet_id: anyOf('Subnet IDs', f => f.instance.subnetId),
  bound_vpc_id: anyOf('VPC IDs', f => f.instance.vpcId),
  bound_iam_instance_profile_arn: anyOf(
    'Instance profile ARNs, with a trailing wildcard if wanted',
    f => f.instance.profileArn,
    matchesAnyPattern,
  ),
  bound_iam_role_arn: anyOf(
    'ARNs of the IAM role of the instance, with a trailing wildcard if wanted',
    f => f.instance.roleArn,
    matchesAnyPattern,
  ),
  bound_tags: everyKey(
    'bound_tags',
    'Values by key of the instance’s tags, with a trailing wildcard if wanted; of every key one value must match',
    f => f.instance.tags ?? {},
  ),
} satisfies Record<string, Binding<List> | Binding<Lists>>

export type BindingName = keyof typeof instanceBindings

export const bindingNames = Object.keys(instanceBindings) as BindingName[]

/** Bindings that older stored roles lack. */
type Later = 'bound_tags'

/** The stored bindings of a role, by name. A binding with an empty value binds nothing. */
export type RoleBindings = {
  readonly [K in Exclude<BindingName, Later>]: (typeof instanceBindings)[K]['neutral']
} & { readonly [K in Later]?: (typeof instanceBindings)[K]['neutral'] }

const rowOf = (name: BindingName) => instanceBindings[name] as unknown as Binding<unknown>

const boundBy = (name: BindingName, bound: RoleBindings): unknown => bound[name] ?? rowOf(name).neutral

/** Reports whether a role uses a binding. */
export const isBindingSet = (name: BindingName, bound: RoleBindings): boolean =>
  Object.keys(bound[name] ?? {}).length > 0

/** Reports whether an instance satisfies a binding. */
export const isBindingMet = (name: BindingName, bound: RoleBindings, facts: InstanceFacts): boolean =>
  rowOf(name).meets(boundBy(name, bound), facts)

/** Returns the value that a binding is compared with. */
export const comparedBindingValue = (name: BindingName, bound: RoleBindings, facts: InstanceFacts): unknown =>
  rowOf(name).seen(facts, boundBy(name, bound))

/** Returns why the stored value of a binding is invalid; undefined if the value is valid. */
export const findBindingFault = (name: BindingName, bound: RoleBindings): string | undefined =>
  rowOf(name).fault?.(boundBy(name, bound))

/** Replaces stored bindings by the bindings in the request, each as a whole. */
export const mergeBindings = (
  stored: RoleBindings,
  given: { readonly [K in BindingName]?: unknown },
): RoleBindings =>
  Object.fromEntries(
    bindingNames.map(name => [
      name,
      given[name] === undefined ? boundBy(name, stored) : rowOf(name).store(given[name]),
    ]),
  ) as unknown as RoleBindings

export const noBindings: RoleBindings = Object.fromEntries(
  bindingNames.map(name => [name, rowOf(name).neutral]),
) as unknown as RoleBindings
