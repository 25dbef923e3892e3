import { type Field, list, mapOfLists } from '../../api/fields.ts'
import type { Instance } from '../../model/instance.ts'
import { isIn, matchesAny } from '../../values/pattern.ts'

/** What the constraints of a role look at: an instance, and what its document or its principal's ARN says. */
export interface InstanceFacts {
  /** 12 digits, from the document or the caller's ARN */
  account: string
  /** of the document, or the inferred region */
  region: string
  instance: Pick<Instance, 'id'> &
    Partial<Omit<Instance, 'state'>> & {
      /** role behind the instance profile; looked up only where a role binds it */
      roleArn?: string
    }
}

/** A constraint: the role's field, what it is compared with, and how. `B` is what a role stores of it. */
interface Binding<B> {
  field: Field<unknown>
  neutral: B
  /** what is stored of a supplied value */
  store(given: B): B
  /** why a value may not be stored, as a message */
  fault?(bound: B): string | undefined
  /** what is compared, for administrators */
  seen(facts: InstanceFacts, bound: B): unknown
  meets(bound: B, facts: InstanceFacts): boolean
}

type List = readonly string[]
type Lists = Readonly<Record<string, List>>

const unique = (values: List): List => [...new Set(values)]

/** One of the listed values must be the instance's. */
const anyOf = (
  doc: string,
  seen: (facts: InstanceFacts) => string | undefined,
  matches: typeof isIn = isIn,
): Binding<List> => ({
  field: list(`${doc}; any one must match`),
  neutral: [],
  store: unique,
  seen,
  meets: (bound, facts) => matches(bound, seen(facts)),
})

const LONGEST_TAG_KEY = 128

/** Of every key that is listed, one of its values must be the instance's. */
const everyKey = (
  name: string,
  doc: string,
  seen: (facts: InstanceFacts) => Readonly<Record<string, string>>,
) => {
  const valueAt = (facts: InstanceFacts, key: string) =>
    Object.hasOwn(seen(facts), key) ? seen(facts)[key] : undefined
  return {
    field: mapOfLists(doc),
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
    // tags that the role does not list are not shown
    seen: (facts, bound) =>
      Object.fromEntries(Object.keys(bound).map(key => [key, valueAt(facts, key) ?? null])),
    meets: (bound, facts) =>
      Object.entries(bound).every(([key, values]) => matchesAny(values, valueAt(facts, key))),
  } satisfies Binding<Lists>
}

/**
 * The constraints on instances, in the order in which they are checked. Adding one is one line: the role's
 * field, its read-back, its applicability and its check follow from it; the compiler asks for the form of its values (`forms.ts`).
 * @see docs/spec/login-ec2.md#constraints
 */
export const bindings = {
  bound_region: anyOf('Regions', f => f.region),
  bound_ec2_instance_id: anyOf('Instance IDs', f => f.instance.id),
  bound_account_id: anyOf('Account IDs', f => f.account),
  bound_ami_id: anyOf('AMI IDs', f => f.instance.amiId),
  bound_subnet_id: anyOf('Subnet IDs', f => f.instance.subnetId),
  bound_vpc_id: anyOf('VPC IDs', f => f.instance.vpcId),
  bound_iam_instance_profile_arn: anyOf(
    'Instance profile ARNs, with a trailing wildcard if wanted',
    f => f.instance.profileArn,
    matchesAny,
  ),
  bound_iam_role_arn: anyOf(
    'ARNs of the IAM role of the instance, with a trailing wildcard if wanted',
    f => f.instance.roleArn,
    matchesAny,
  ),
  bound_tags: everyKey(
    'bound_tags',
    'Values by key of the instance’s tags, with a trailing wildcard if wanted; of every key any one value must match',
    f => f.instance.tags ?? {},
  ),
} satisfies Record<string, Binding<List> | Binding<Lists>>

export type BindingName = keyof typeof bindings

export const bindingNames = Object.keys(bindings) as BindingName[]

/** Those that roles stored before them lack. */
type Later = 'bound_tags'

/** What roles store, by constraint; what is empty binds nothing. */
export type Bound = {
  readonly [K in Exclude<BindingName, Later>]: (typeof bindings)[K]['neutral']
} & { readonly [K in Later]?: (typeof bindings)[K]['neutral'] }

const rowOf = (name: BindingName) => bindings[name] as unknown as Binding<unknown>

const boundBy = (name: BindingName, bound: Bound): unknown => bound[name] ?? rowOf(name).neutral

/** Whether a role asks for a constraint. */
export const isBound = (name: BindingName, bound: Bound): boolean => Object.keys(bound[name] ?? {}).length > 0

/** Whether a role's constraint holds. */
export const isMet = (name: BindingName, bound: Bound, facts: InstanceFacts): boolean =>
  rowOf(name).meets(boundBy(name, bound), facts)

/** What a role's constraint is compared with. */
export const comparedValue = (name: BindingName, bound: Bound, facts: InstanceFacts): unknown =>
  rowOf(name).seen(facts, boundBy(name, bound))

/** Why what a role stores of a constraint makes no sense. */
export const boundFault = (name: BindingName, bound: Bound): string | undefined =>
  rowOf(name).fault?.(boundBy(name, bound))

/** Supplied constraints take the place of stored ones, each as a whole. */
export const mergeBound = (stored: Bound, given: { readonly [K in BindingName]?: unknown }): Bound =>
  Object.fromEntries(
    bindingNames.map(name => [
      name,
      given[name] === undefined ? boundBy(name, stored) : rowOf(name).store(given[name]),
    ]),
  ) as unknown as Bound

export const noBindings: Bound = Object.fromEntries(
  bindingNames.map(name => [name, rowOf(name).neutral]),
) as unknown as Bound
