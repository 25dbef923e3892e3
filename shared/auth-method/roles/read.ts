import { after, answer, type Call, data, keys, mountOf, type Outcome, subjectOf } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { type listFields, pageOf } from '../../api/listing.ts'
import { erase } from '../../storage/changes.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { parametersAnswer } from '../../tokens/parameters.ts'
import { unbound } from '../bindings.ts'
import type { Role } from './role.ts'

/** GET role/:role. @see docs/spec/roles.md#reading */
export function readRole(call: Call): Outcome {
  const stored = subjectOf(call, 'role')
  if (!stored) throw new ApiError('not_found')
  return answer(data(roleAnswer(stored.data)))
}

/** How a role reads back: all lists are arrays, the key of its tags never appears. */
export const roleAnswer = (role: Role): Record<string, unknown> => ({
  auth_type: role.authType,
  ...unbound,
  ...role.bound,
  bound_iam_principal_arn: role.boundIamPrincipalArns,
  bound_iam_principal_id: role.boundIamPrincipalIds,
  inferred_entity_type: role.inferredEntityType,
  inferred_aws_region: role.inferredAwsRegion,
  resolve_aws_unique_ids: role.resolveAwsUniqueIds ?? false,
  role_id: role.roleId,
  role_tag: role.roleTag,
  allow_instance_migration: role.allowInstanceMigration,
  disallow_reauthentication: role.disallowReauthentication,
  ...parametersAnswer(role.token, 'role'),
})

/** LIST roles. */
export async function listRoles(call: Call<typeof listFields>): Promise<Outcome> {
  const found = await call.ports.store.list(partitions('role', mountOf(call).accessor), pageOf(call.given))
  return answer(keys(found.map(item => item.sk)))
}

/** DELETE role/:role: its tokens live on, but cannot be renewed. */
export const deleteRole = (call: Call): Outcome =>
  after([erase(key('role', mountOf(call).accessor, call.params['role'] ?? ''))])
