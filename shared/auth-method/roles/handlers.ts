import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  type MountCall,
  noContentAnswer,
  type RequestPhases,
} from '../../api/call.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import { isLegacyEc2, maxTtlOfMount } from '../../model/mount.ts'
import type { Role } from '../../model/role.ts'
import { replaceItem } from '../../storage/changes.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { showTokenParameters } from '../../tokens/parameters.ts'
import { defined } from '../../values/defined.ts'
import type { EncryptedText } from '../../values/secret.ts'
import { noBindings } from './bindings.ts'
import type { roleFields } from './fields.ts'
import { planRole, type RolePlan } from './plan.ts'
import { type ResolvedIds, resolvePrincipals } from './resolve.ts'

type RoleCall = MountCall<typeof roleFields>

/** A role write that has passed all checks before the look-ups. */
interface Planned extends RolePlan {
  place: Key<'role'>
  stored: Item<'role'> | undefined
}

/**
 * The phases of POST role/:role. A role write reads once: after IAM has answered, the write reads nothing again.
 * The commit of a role write fails if the role has changed. A changed configuration applies from the next write on.
 * @see docs/spec/roles.md#write
 */
export const writeRolePhases: RequestPhases<RoleCall, undefined, Planned, ResolvedIds> = {
  gather: async call => {
    const place = subjectKeyOf(call, 'role')
    const stored = subjectOf(call, 'role')
    return { ...(await planRoleWrite(call, place, stored)), place, stored }
  },
  ask: async (call, { role, resolve }, ask) =>
    resolve.length === 0
      ? { ids: role.boundIamPrincipalIds, changes: [] }
      : resolvePrincipals(call, resolve, ask),
  decide: (_, { place, stored, role, warnings }, { ids, changes }) =>
    answerAfterChanges(
      [replaceItem(place, stored, { ...role, boundIamPrincipalIds: ids }), ...changes],
      noContentAnswer(warnings),
    ),
}

/**
 * Builds the role that a request to write `place` would store.
 * @throws ApiError `invalid_request`
 */
export async function planRoleWrite(
  call: RoleCall,
  place: Key<'role'>,
  stored: Item<'role'> | undefined,
): Promise<RolePlan> {
  const facts = defined({
    stored: stored?.data,
    parameters: call.parameters,
    defaultAuthType: isLegacyEc2(call.mount) ? 'ec2' : 'iam',
    jwtConfigured: call.parameters.auth_type === 'jwt' && (await isJwtConfigured(call)),
    aliasIsInstance: await isInstanceAlias(call, stored?.data),
    mountMax: maxTtlOfMount(call.mount),
    fresh: {
      roleId: call.ports.entropy.uuid(),
      hmacKey: stored?.data.hmacKey ?? (await newTagKey(call, place)),
      createdAt: call.now,
    },
  } as const)
  const plan = planRole(facts)
  return { ...plan, warnings: [...plan.warnings, ...endingWarnings(plan.role, call)] }
}

const isJwtConfigured = async ({ ports, mount }: RoleCall): Promise<boolean> =>
  (await ports.store.read([key('jwt-config', mount.accessor)]))[0] !== undefined

/** Returns a warning if the deployment does not learn the ends of instances (setting `instanceEvents`). */
const endingWarnings = (role: Role, { ports }: Pick<RoleCall, 'ports'>): string[] =>
  role.revokeOnTermination && !ports.deployment.instanceEvents
    ? [
        'revoke_on_termination: no token ends with its instance, because the deployment lacks the setting instanceEvents',
      ]
    : []

/** Reports whether logins by token have the instance as their alias. Read only for a role whose tokens end with it. */
async function isInstanceAlias({ ports, mount, parameters }: RoleCall, stored?: Role): Promise<boolean> {
  const ends = parameters.revoke_on_termination ?? stored?.revokeOnTermination
  if (!ends || (parameters.auth_type ?? stored?.authType) !== 'jwt') return false
  const [config] = await ports.store.read([key('identity-config', mount.accessor)])
  return config?.data.jwtAlias === 'instance_id'
}

const newTagKey = (call: RoleCall, place: Key<'role'>): Promise<EncryptedText> =>
  call.ports.cipher.encrypt(place, 'hmacKey', call.ports.entropy.uuid())

/** Handles GET role/:role. @see docs/spec/roles.md#reading */
export const readRole = (call: Call): CallOutcome =>
  answer(dataAnswer(roleAnswer(requireSubject(call, 'role').data)))

/**
 * Returns the response form of a role. All lists in a role's response are arrays. The key that signs role tags is
 * never included.
 */
export const roleAnswer = (role: Role): Record<string, unknown> => ({
  auth_type: role.authType,
  ...noBindings,
  ...role.bound,
  ...role.claims,
  ...(role.capToSession ? { cap_to_session: true } : {}),
  ...(role.revokeOnTermination ? { revoke_on_termination: true } : {}),
  bound_iam_principal_arn: role.boundIamPrincipalArns,
  bound_iam_principal_id: role.boundIamPrincipalIds,
  inferred_entity_type: role.inferredEntityType,
  inferred_aws_region: role.inferredAwsRegion,
  ...(role.allowInstanceIdentityRole ? { allow_instance_identity_role: true } : {}),
  resolve_aws_unique_ids: role.resolveAwsUniqueIds ?? false,
  role_id: role.roleId,
  role_tag: role.roleTag,
  allow_instance_migration: role.allowInstanceMigration,
  disallow_reauthentication: role.disallowReauthentication,
  ...showTokenParameters(role.token, 'role'),
})
