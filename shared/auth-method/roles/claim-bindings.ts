import { type AwsClaims, instanceIdOfArn, regionOfArn } from '../../identity-proof/aws-claims.ts'
import { matchesAnyPattern } from '../../values/pattern.ts'
import { anyOf, type Binding, everyKey, type List, type Lists, type RoleBindings } from './bindings.ts'

/** The claims that the bindings of a role compare. */
export interface ClaimFacts extends AwsClaims {
  /** ARN of the user or role, with its path */
  sub: string
}

const podTag = (name: string) => (claims: ClaimFacts) =>
  Object.hasOwn(claims.principalTags, name) ? claims.principalTags[name] : undefined

const PATH = /^o-[a-z0-9]{10,32}\/r-[0-9a-z]{4,32}(\/ou-[0-9a-z]{4,32}-[a-z0-9]{8,32})*\/?$/

const segmentsOf = (path: string): string[] => path.replace(/\/+$/, '').split('/')

/** Reports whether an account at `actual` is in the organizational unit at `bound`, or below it. */
function isBelow(bound: string, actual: string): boolean {
  const [wanted, found] = [segmentsOf(bound), segmentsOf(actual)]
  return wanted.every((segment, index) => segment === found[index])
}

/** Organization paths: compared by whole segments. A token with several paths, or of another organization, fails. */
const organizationPath: Binding<List, ClaimFacts> = {
  ...anyOf<ClaimFacts>('Paths of organizational units, such as o-…/r-…/ou-…', claims =>
    claims.orgPaths?.join(' '),
  ),
  fault: paths => {
    const wrong = paths.find(path => !PATH.test(path))
    return wrong === undefined
      ? undefined
      : `bound_organization_path: ${JSON.stringify(wrong.slice(0, 80))} is not a path such as o-a1b2c3d4e5/r-ab12/ou-ab12-11111111`
  },
  meets: (paths, { orgId, orgPaths = [] }) => {
    const [path = '', ...more] = orgPaths
    if (more.length > 0 || orgId === undefined || segmentsOf(path)[0] !== orgId) return false
    return paths.some(bound => isBelow(bound, path))
  },
}

const ORGANIZATION = /^o-[a-z0-9]{10,32}$/

const organization: Binding<List, ClaimFacts> = {
  ...anyOf<ClaimFacts>('IDs of organizations', claims => claims.orgId),
  fault: ids => {
    const wrong = ids.find(id => !ORGANIZATION.test(id))
    return wrong === undefined
      ? undefined
      : `bound_organization_id: ${JSON.stringify(wrong.slice(0, 80))} is not the ID of an organization`
  },
}

const metadataVersion: Binding<List, ClaimFacts> = {
  ...anyOf<ClaimFacts>('Version of the metadata service that delivered the credentials: 2', claims =>
    claims.metadataVersion === undefined ? undefined : String(claims.metadataVersion),
  ),
  fault: versions =>
    versions.some(version => version !== '2') ? 'bound_metadata_version must be 2' : undefined,
}

/**
 * The bindings of a role that only tokens of AWS can satisfy, in the order of their checks.
 * @see docs/spec/login-jwt.md#bounds
 */
export const claimBindings = {
  bound_organization_id: organization,
  bound_organization_path: organizationPath,
  bound_lambda_function_arn: anyOf<ClaimFacts>(
    'ARNs of Lambda functions, with a trailing wildcard if wanted',
    claims => claims.lambdaArn,
    matchesAnyPattern,
  ),
  bound_principal_tags: everyKey<ClaimFacts>(
    'bound_principal_tags',
    'Values by key of the tags of the role and its session, with a trailing wildcard if wanted; of every key one value must match',
    claims => claims.principalTags,
  ),
  bound_source_identity: anyOf<ClaimFacts>('Source identities', claims => claims.sourceIdentity),
  bound_identity_store_user_id: anyOf<ClaimFacts>(
    'IDs of users of IAM Identity Center',
    claims => claims.identityStoreUserId,
  ),
  bound_federated_provider: anyOf<ClaimFacts>(
    'ARNs of identity providers behind the session',
    claims => claims.federatedProvider,
  ),
  bound_eks_cluster_arn: anyOf<ClaimFacts>('ARNs of EKS clusters', podTag('eks-cluster-arn')),
  bound_kubernetes_namespace: anyOf<ClaimFacts>('Kubernetes namespaces', podTag('kubernetes-namespace')),
  bound_kubernetes_service_account: anyOf<ClaimFacts>(
    'Kubernetes service accounts',
    podTag('kubernetes-service-account'),
  ),
  bound_metadata_version: metadataVersion,
} satisfies Record<string, Binding<List, ClaimFacts> | Binding<Lists, ClaimFacts>>

export type ClaimBindingName = keyof typeof claimBindings

export const claimBindingNames = Object.keys(claimBindings) as ClaimBindingName[]

/** The stored bindings of a role to claims, by name. An absent binding binds nothing. */
export type ClaimBindings = {
  readonly [K in ClaimBindingName]?: (typeof claimBindings)[K]['neutral']
}

const rowOf = (name: ClaimBindingName) => claimBindings[name] as unknown as Binding<unknown, ClaimFacts>

/** Returns the bindings with those of a request, each as a whole; an empty binding is removed. */
export function mergeClaimBindings(
  stored: ClaimBindings,
  given: { readonly [K in ClaimBindingName]?: unknown },
): ClaimBindings {
  const merged = claimBindingNames.map(
    name => [name, given[name] === undefined ? stored[name] : rowOf(name).store(given[name])] as const,
  )
  return Object.fromEntries(merged.filter(([, bound]) => Object.keys(bound ?? {}).length > 0))
}

/** Returns why the stored value of a binding is invalid; undefined if all are valid. */
export const findClaimBindingFault = (bound: ClaimBindings): string | undefined =>
  claimBindingNames.flatMap(name => (bound[name] ? (rowOf(name).fault?.(bound[name]) ?? []) : []))[0]

/** The parts of a role that are compared with claims. */
interface BoundRole {
  bound: RoleBindings
  boundIamPrincipalArns: readonly string[]
  claims?: ClaimBindings
}

/** One binding of a role of type `jwt`: its name, the value that it compares, and whether the token satisfies it. */
export interface ClaimRule {
  name: string
  isSet(role: BoundRole): boolean
  seen(role: BoundRole, claims: ClaimFacts): unknown
  wanted(role: BoundRole): unknown
  isMet(role: BoundRole, claims: ClaimFacts): boolean
}

/** The bindings that roles of all types have, compared with claims. */
const shared = {
  bound_account_id: claims => claims.account,
  // the region that the token names is the caller's choice
  bound_region: claims => regionOfArn(claims.instanceArn) ?? regionOfArn(claims.lambdaArn),
  bound_vpc_id: claims => claims.vpcId,
  bound_ec2_instance_id: claims => instanceIdOfArn(claims.instanceArn),
} satisfies Record<string, (claims: ClaimFacts) => string | undefined>

export type SharedBindingName = keyof typeof shared

export const sharedBindingNames = Object.keys(shared) as SharedBindingName[]

const sharedRule = (name: SharedBindingName): ClaimRule => ({
  name,
  isSet: ({ bound }) => bound[name].length > 0,
  seen: (_, claims) => shared[name](claims) ?? null,
  wanted: ({ bound }) => bound[name],
  isMet: ({ bound }, claims) => bound[name].includes(shared[name](claims) ?? ''),
})

const claimRule = (name: ClaimBindingName): ClaimRule => ({
  name,
  isSet: ({ claims = {} }) => claims[name] !== undefined,
  wanted: ({ claims = {} }) => claims[name],
  seen: ({ claims = {} }, facts) => rowOf(name).seen(facts, claims[name] ?? rowOf(name).neutral) ?? null,
  isMet: ({ claims = {} }, facts) => rowOf(name).meets(claims[name] ?? rowOf(name).neutral, facts),
})

/** All bindings of roles of type `jwt`, in the order of their checks. A claim that the token lacks satisfies none. */
export const claimRules: readonly ClaimRule[] = [
  ...sharedBindingNames.map(sharedRule),
  {
    name: 'bound_iam_principal_arn',
    isSet: role => role.boundIamPrincipalArns.length > 0,
    seen: (_, { sub }) => sub,
    wanted: role => role.boundIamPrincipalArns,
    isMet: (role, { sub }) => matchesAnyPattern(role.boundIamPrincipalArns, sub),
  },
  ...claimBindingNames.map(claimRule),
]
