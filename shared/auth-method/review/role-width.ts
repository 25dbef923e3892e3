import { checksInstances, type Role } from '../../model/role.ts'
import { type BindingName, bindingNames, type List, type Lists } from '../roles/bindings.ts'
import { type ClaimBindingName, claimBindingNames } from '../roles/claim-bindings.ts'

/** Matches a pattern of IAM's ARNs whose wildcard comes before every path and name. */
const WIDE_IAM_ARN = /^[^/]*\/?\*$/
/** Matches a pattern of functions whose wildcard comes before the function's name. */
const WIDE_LAMBDA_ARN = /^(?:[^:]*:){0,5}[^:]*:?\*$/

/** Reports whether a pattern admits all users, roles or instance profiles of an account. */
export const namesWholeAccount = (arn: string): boolean => WIDE_IAM_ARN.test(arn)

type BoundName = BindingName | ClaimBindingName

/** Bounds that name an account, an organization or a property of very many workloads, but no workload. */
const WIDE: readonly BoundName[] = [
  'bound_account_id',
  'bound_region',
  'bound_organization_id',
  'bound_organization_path',
  'bound_metadata_version',
  // the caller of AssumeRole chooses it
  'bound_source_identity',
]

/** The bounds with wildcards in ARNs. In the other lists a `*` is an ordinary character. */
const PATTERNS: Partial<Record<BoundName, RegExp>> = {
  bound_iam_instance_profile_arn: WIDE_IAM_ARN,
  bound_iam_role_arn: WIDE_IAM_ARN,
  bound_lambda_function_arn: WIDE_LAMBDA_ARN,
}

const names: readonly BoundName[] = [...bindingNames, ...claimBindingNames]

const valuesOf = (name: BoundName, { bound, claims }: Role): List | Lists =>
  ({ ...bound, ...claims })[name] ?? []

const isSet = (name: BoundName, role: Role): boolean => Object.keys(valuesOf(name, role)).length > 0

/** Reports whether a bound leaves out most workloads of an account. One wide value makes a list wide. */
export function isNarrowedBy(name: BoundName, role: Role): boolean {
  if (WIDE.includes(name) || !isSet(name, role)) return false
  const values = valuesOf(name, role)
  const wide = PATTERNS[name]
  return !wide || !Array.isArray(values) || !values.some(value => wide.test(value))
}

/**
 * Returns the bounds of a role that admits everything in an account or an organization. Returns nothing if one of the
 * bounds names workloads: principals, instances, functions or other claims.
 */
export function findWideBounds(role: Role): string[] {
  const { boundIamPrincipalArns: arns } = role
  const isNarrowed =
    role.roleTag !== '' ||
    names.some(name => isNarrowedBy(name, role)) ||
    (arns.length > 0 && !arns.some(namesWholeAccount))
  if (isNarrowed) return []
  return [...names.filter(name => isSet(name, role)), ...(arns.length > 0 ? ['bound_iam_principal_arn'] : [])]
}

/** Returns what logs in at a role. */
export const callersOf = (role: Role): string => (checksInstances(role) ? 'instance' : 'user or role')
