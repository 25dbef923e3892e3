import { answer, type Call, data, type Outcome } from '../../api/call.ts'
import { storedOf } from '../../api/subject.ts'
import type { Role } from '../../model/role.ts'
import { parametersAnswer } from '../../tokens/parameters.ts'
import { unbound } from './bindings.ts'

/** GET role/:role. @see docs/spec/roles.md#reading */
export const readRole = (call: Call): Outcome => answer(data(roleAnswer(storedOf(call, 'role').data)))

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
