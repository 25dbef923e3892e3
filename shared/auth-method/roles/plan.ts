import { invalidRequestError } from '../../api/errors.ts'
import type { SuppliedParameters } from '../../api/fields.ts'
import { checksInstances, type Role, wildcardArnsOf } from '../../model/role.ts'
import {
  defaultTokenParameters,
  mergeTokenParameters,
  tokenParameterWarnings,
} from '../../tokens/parameters.ts'
import { canonicalArnOf, parseIamEntity } from '../../values/arn.ts'
import { defined } from '../../values/defined.ts'
import { partitionOfRegion, unsupportedRegionFault } from '../../values/region.ts'
import type { EncryptedText } from '../../values/secret.ts'
import {
  type BindingName,
  bindingNames,
  findBindingFault,
  isBindingSet,
  mergeBindings,
  noBindings,
} from './bindings.ts'
import { mergeClaimBindings } from './claim-bindings.ts'
import type { roleFields } from './fields.ts'
import { bindingFormWarnings, createArnForm, warnAboutBinding } from './forms.ts'
import { findJwtRoleFault, isSharedBinding, jwtRoleWarnings } from './jwt-role.ts'

type Given = SuppliedParameters<typeof roleFields>

export interface RoleFacts {
  /** `stored` is absent if the request creates the role */
  stored?: Role
  parameters: Given
  /** `auth_type` of new roles that do not set it, by the mount's type */
  defaultAuthType: Role['authType']
  /** whether the mount accepts logins by token; read only if the request asks for the type `jwt` */
  jwtConfigured: boolean
  /** whether `jwt_alias` of the mount is `instance_id`; read only for a role with `revoke_on_termination` */
  aliasIsInstance: boolean
  /** seconds */
  mountMax: number
  /** `fresh` is used only for a new role */
  fresh: { roleId: string; hmacKey: EncryptedText; createdAt: number }
}

export interface RolePlan {
  role: Role
  /** principals whose unique IDs must be resolved before the role is stored */
  resolve: readonly string[]
  warnings: readonly string[]
}

const LONGEST_TAG_KEY = 127

/**
 * Builds the role that a write stores. All checks that need no look-up come first, so an invalid request calls no
 * AWS service.
 *
 * @throws ApiError `invalid_request`
 * @see docs/spec/roles.md#write
 */
export function planRole(facts: RoleFacts): RolePlan {
  const role = mergeRole(facts)
  const fault =
    typeFault(facts, role) ??
    findJwtRoleFault(facts.parameters, role) ??
    partitionFault(role) ??
    inferenceFault(role) ??
    instanceRoleFault(role) ??
    bindingFault(role) ??
    principalFault(role) ??
    ec2OnlyFault(role) ??
    endingFault(facts, role)
  if (fault) throw invalidRequestError(fault)
  return {
    role,
    resolve: role.resolveAwsUniqueIds && role.boundIamPrincipalIds.length === 0 ? exactArns(role) : [],
    warnings: [
      ...tokenParameterWarnings(role.token, facts.mountMax),
      ...bindingWarnings(role),
      ...jwtRoleWarnings(role),
    ],
  }
}

/** Returns the principals that are bound without a wildcard. */
const exactArns = (role: Role): string[] => role.boundIamPrincipalArns.filter(arn => !arn.endsWith('*'))

function mergeRole({ stored, parameters, defaultAuthType, mountMax, fresh }: RoleFacts): Role {
  const arns = parameters.bound_iam_principal_arn
  const authType = (parameters.auth_type ?? stored?.authType ?? defaultAuthType) as Role['authType']
  const byDefault = stored === undefined && authType !== 'jwt'
  const resolves = parameters.resolve_aws_unique_ids ?? stored?.resolveAwsUniqueIds ?? byDefault
  const claims = mergeClaimBindings(stored?.claims ?? {}, parameters)
  const ownRoles = parameters.allow_instance_identity_role ?? stored?.allowInstanceIdentityRole ?? false
  const ends = parameters.revoke_on_termination ?? stored?.revokeOnTermination ?? false
  const caps = parameters.cap_to_session ?? stored?.capToSession ?? false
  return {
    authType,
    ...(Object.keys(claims).length > 0 ? { claims } : {}),
    ...(caps ? { capToSession: true } : {}),
    ...(ends ? { revokeOnTermination: true } : {}),
    bound: mergeBindings(stored?.bound ?? noBindings, parameters),
    boundIamPrincipalArns: arns ? [...new Set(arns)] : (stored?.boundIamPrincipalArns ?? []),
    // sending the list of principals again resolves them again, which admits a recreated principal
    boundIamPrincipalIds: arns ? [] : (stored?.boundIamPrincipalIds ?? []),
    inferredEntityType: (parameters.inferred_entity_type ??
      stored?.inferredEntityType ??
      '') as Role['inferredEntityType'],
    inferredAwsRegion: parameters.inferred_aws_region ?? stored?.inferredAwsRegion ?? '',
    ...(ownRoles ? { allowInstanceIdentityRole: true } : {}),
    resolveAwsUniqueIds: resolves,
    roleId: stored?.roleId ?? fresh.roleId,
    hmacKey: stored?.hmacKey ?? fresh.hmacKey,
    ...defined({ createdAt: stored ? stored.createdAt : fresh.createdAt }),
    roleTag: parameters.role_tag ?? stored?.roleTag ?? '',
    allowInstanceMigration: parameters.allow_instance_migration ?? stored?.allowInstanceMigration ?? false,
    disallowReauthentication:
      parameters.disallow_reauthentication ?? stored?.disallowReauthentication ?? false,
    token: mergeTokenParameters(stored?.token ?? defaultTokenParameters, parameters, mountMax),
  }
}

function typeFault({ stored, parameters, jwtConfigured }: RoleFacts, role: Role): string | undefined {
  const isJwt = role.authType === 'jwt' && (jwtConfigured || stored?.authType === 'jwt')
  if (role.authType !== 'ec2' && role.authType !== 'iam' && !isJwt) return 'auth_type must be ec2 or iam'
  if (stored && stored.authType !== role.authType) return 'auth_type of an existing role cannot be changed'
  if (stored?.resolveAwsUniqueIds && parameters.resolve_aws_unique_ids === false) {
    return 'resolve_aws_unique_ids cannot be switched off; recreate the role'
  }
  return undefined
}

function partitionFault(role: Role): string | undefined {
  const { bound_region, bound_iam_role_arn, bound_iam_instance_profile_arn } = role.bound
  const inPartitions = {
    inferred_aws_region: [role.inferredAwsRegion],
    bound_iam_principal_arn: role.boundIamPrincipalArns,
    bound_region,
    bound_iam_role_arn,
    bound_iam_instance_profile_arn,
  }
  return Object.entries(inPartitions)
    .flatMap(([field, values]) => values.map(value => unsupportedRegionFault(value, `${field}: ${value}`)))
    .find(fault => fault !== undefined)
}

function inferenceFault({ authType, inferredEntityType, inferredAwsRegion }: Role): string | undefined {
  if (inferredEntityType === '') {
    return inferredAwsRegion === '' ? undefined : 'inferred_aws_region needs inferred_entity_type'
  }
  if (authType !== 'iam') return 'inferred_entity_type applies only to iam roles'
  if (inferredEntityType !== 'ec2_instance') return 'inferred_entity_type must be ec2_instance'
  if (inferredAwsRegion === '') return 'inferred_entity_type needs inferred_aws_region'
  return partitionOfRegion(inferredAwsRegion) ? undefined : 'inferred_aws_region is not a region'
}

function instanceRoleFault(role: Role): string | undefined {
  if (!role.allowInstanceIdentityRole) return undefined
  if (role.inferredEntityType === '')
    return 'allow_instance_identity_role applies only to iam roles that infer an ec2 instance'
  if (role.boundIamPrincipalArns.length > 0)
    return 'allow_instance_identity_role and bound_iam_principal_arn exclude each other'
  return bindingNames.some(name => isBindingSet(name, role.bound))
    ? undefined
    : 'at least one bound constraint is required: allow_instance_identity_role needs one of instances'
}

function bindingFault(role: Role): string | undefined {
  const used = bindingNames.filter(name => isBindingSet(name, role.bound))
  const forInstances = role.authType === 'jwt' ? used.filter(name => !isSharedBinding(name)) : used
  if (forInstances[0] && !checksInstances(role)) {
    return `${forInstances[0]} applies only to ec2 roles or roles that infer an ec2 instance`
  }
  if (role.boundIamPrincipalArns.length > 0 && role.authType === 'ec2') {
    return 'bound_iam_principal_arn applies only to iam roles'
  }
  if (used.length === 0 && role.boundIamPrincipalArns.length === 0 && !role.claims)
    return 'at least one bound constraint is required'
  for (const name of used) {
    const fault = findBindingFault(name, role.bound)
    if (fault) return fault
  }
  return undefined
}

// Every AWS account can produce a valid proof, so a prefix that ends before the account ID would admit all accounts.
const BEYOND_ACCOUNT = /^arn:[a-z-]+:iam::\d{12}:/

/** Matches the ARN of a session, and captures the role behind the session. */
const SESSIONS = /^(arn:[a-z-]+):sts::(\d{12}):(?:assumed-role\/([\w+=,.@-]+\*?))?/

function principalFault(role: Role): string | undefined {
  const open = role.boundIamPrincipalArns.find(arn => arn.endsWith('*') && !BEYOND_ACCOUNT.test(arn))
  if (open === undefined) return undefined
  const [, partition, account, name = '*'] = SESSIONS.exec(open) ?? []
  return account === undefined
    ? `bound_iam_principal_arn: the wildcard in ${open} must come after the account ID`
    : `bound_iam_principal_arn: ${open} names sessions, but a wildcard is compared with the role of a session: use ${partition}:iam::${account}:role/${name}, including the path of the role if it has one; that ARN admits all sessions of the role`
}

function ec2OnlyFault(role: Role): string | undefined {
  if (role.allowInstanceMigration && role.disallowReauthentication) {
    return 'allow_instance_migration and disallow_reauthentication exclude each other'
  }
  if (role.roleTag.length > LONGEST_TAG_KEY)
    return `role_tag must not be longer than ${LONGEST_TAG_KEY} characters`
  if (role.authType === 'ec2') return undefined
  if (role.roleTag !== '') return 'role_tag is valid only for ec2 roles'
  if (role.allowInstanceMigration) return 'allow_instance_migration applies only to ec2 roles'
  return role.disallowReauthentication ? 'disallow_reauthentication applies only to ec2 roles' : undefined
}

/** Returns why the tokens of a role cannot end with an instance: its logins do not name one. */
function endingFault({ aliasIsInstance }: RoleFacts, role: Role): string | undefined {
  if (!role.revokeOnTermination || checksInstances(role)) return undefined
  if (role.authType === 'iam')
    return 'revoke_on_termination needs a role that infers an ec2 instance (inferred_entity_type)'
  return aliasIsInstance || role.bound.bound_ec2_instance_id.length > 0
    ? undefined
    : 'revoke_on_termination of a jwt role needs bound_ec2_instance_id, or jwt_alias instance_id in config/identity'
}

const WILD = [
  'bound_iam_instance_profile_arn',
  'bound_iam_role_arn',
] as const satisfies readonly BindingName[]

function bindingWarnings(role: Role): string[] {
  const warnings = WILD.filter(name => role.bound[name].includes('*')).map(
    name => `${name} of "*" matches everything`,
  )
  warnings.push(...bindingNames.flatMap(name => warnAboutBinding(name, role.bound)))
  warnings.push(
    ...bindingFormWarnings('bound_iam_principal_arn', wildcardArnsOf(role), createArnForm('user', 'role')),
  )
  if (!role.resolveAwsUniqueIds && role.authType !== 'jwt')
    warnings.push(...exactArns(role).flatMap(unresolvedWarning))
  return warnings
}

// Without unique IDs a login compares the canonical ARN, which has no path. @see docs/spec/login-iam.md#principals
function unresolvedWarning(arn: string): string[] {
  const entity = parseIamEntity(arn)
  if (!entity) return [`bound_iam_principal_arn: ${arn} is not the ARN of a user or role and matches nobody`]
  const usable = canonicalArnOf(entity)
  return usable === arn ? [] : [`bound_iam_principal_arn: ${arn} matches nobody; use ${usable}`]
}
