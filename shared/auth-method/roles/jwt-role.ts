import type { SuppliedParameters } from '../../api/fields.ts'
import { checksInstances, type Role } from '../../model/role.ts'
import {
  claimBindingNames,
  findClaimBindingFault,
  type SharedBindingName,
  sharedBindingNames,
} from './claim-bindings.ts'
import type { roleFields } from './fields.ts'
import { bindingFormWarnings, createArnForm } from './forms.ts'

type Given = SuppliedParameters<typeof roleFields>

/** Reports whether a role of type `jwt` may have a binding of instances, because a token has its value. */
export const isSharedBinding = (name: string): name is SharedBindingName =>
  sharedBindingNames.some(one => one === name)

/** The bindings that only tokens can satisfy. The place of an account in its organization is known by other ways too. */
const narrowNames = claimBindingNames.filter(name => !name.startsWith('bound_organization_'))

const POD = [
  'bound_eks_cluster_arn',
  'bound_kubernetes_namespace',
  'bound_kubernetes_service_account',
] as const

/** Returns why the parts of a role that only tokens can satisfy are invalid. */
export function findJwtRoleFault(given: Given, role: Role): string | undefined {
  const { claims = {}, boundIamPrincipalArns: arns, bound } = role
  if (role.authType !== 'jwt') {
    const used = narrowNames.find(name => claims[name] !== undefined)
    if (used) return `${used} applies only to jwt roles`
    return role.capToSession ? 'cap_to_session applies only to jwt roles' : findClaimBindingFault(claims)
  }
  if (given.resolve_aws_unique_ids)
    return 'resolve_aws_unique_ids applies only to iam roles: tokens contain no unique IDs'
  const hasSubject =
    bound.bound_account_id.length > 0 ||
    arns.length > 0 ||
    claims.bound_organization_id !== undefined ||
    claims.bound_organization_path !== undefined
  if (!hasSubject)
    return 'a jwt role needs bound_account_id, bound_iam_principal_arn, bound_organization_id or bound_organization_path'
  return findPodFault(role) ?? findClaimBindingFault(claims)
}

/** Any role can get the tags of EKS, so a binding to them needs the exact principal. */
function findPodFault({ claims = {}, boundIamPrincipalArns: arns }: Role): string | undefined {
  const pod = POD.find(name => claims[name] !== undefined)
  if (!pod) return undefined
  if (claims.bound_eks_cluster_arn === undefined) return `${pod} needs bound_eks_cluster_arn`
  return arns.length === 0 || arns.some(arn => arn.endsWith('*'))
    ? `${pod} needs bound_iam_principal_arn without a wildcard, because any role can have such tags`
    : undefined
}

const WIDE = 'the role admits every user and role of the bound accounts or organizations'

/** Returns the warnings about bindings to claims and organizations. */
export function jwtRoleWarnings(role: Role): string[] {
  const { claims = {}, boundIamPrincipalArns: arns, bound, token } = role
  if (role.authType !== 'jwt') return role.claims && arns.length === 0 && !checksInstances(role) ? [WIDE] : []
  const exact = arns.filter(arn => !arn.endsWith('*'))
  const isWide =
    arns.length === 0 &&
    narrowNames.every(name => claims[name] === undefined) &&
    sharedBindingNames.every(name => name === 'bound_account_id' || bound[name].length === 0)
  return [
    ...bindingFormWarnings('bound_iam_principal_arn', exact, createArnForm('user', 'role')),
    ...(isWide ? [WIDE] : []),
    ...(claims.bound_principal_tags
      ? ['bound_principal_tags: whoever may tag the role or its sessions chooses these values']
      : []),
    ...(token.period > 0
      ? ['token_period: every renewal relies on what the first token said, without asking AWS']
      : []),
  ]
}
