import { answer, type CallOutcome, dataAnswer, type MountCall } from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { boolField, durationField, listField, lowerTextField } from '../../api/fields.ts'
import { subjectOf } from '../../api/subject.ts'
import { maxTtlOfMount } from '../../model/mount.ts'
import type { Role } from '../../model/role.ts'
import {
  DEFAULT_POLICY_NAME,
  isPolicyName,
  normalisePolicySet,
  POLICY_NAMES_TEXT,
  sanitisePolicies,
} from '../../policies/names.ts'
import { isTagWithinRole, MAX_TAG_LENGTH, type RoleTag, renderRoleTag } from './tag.ts'

export const roleTagFields = {
  policies: listField(
    'Policies of logins with the tag, a subset of the role’s policies; an empty list gives `default` only',
    { counts: normalisePolicySet },
  ),
  max_ttl: durationField('Maximum lifetime of tokens of logins with the tag'),
  instance_id: lowerTextField('The only instance that may use the tag'),
  allow_instance_migration: boolField('As in the role'),
  disallow_reauthentication: boolField('As in the role'),
}

const NONCE_BYTES = 8

/**
 * Handles POST role/:role/tag. The handler returns the key and value of a new tag and stores nothing.
 * @see docs/spec/role-tags.md#making
 */
export async function createRoleTag(call: MountCall<typeof roleTagFields>): Promise<CallOutcome> {
  const item = subjectOf(call, 'role')
  if (!item) throw invalidRequestError('role not found')
  const role = item.data
  if (role.roleTag === '') throw invalidRequestError('role tags are not enabled on this role')
  const { parameters } = call
  if (parameters.allow_instance_migration && parameters.disallow_reauthentication) {
    throw invalidRequestError('allow_instance_migration and disallow_reauthentication exclude each other')
  }
  const tag: RoleTag = {
    nonce: call.ports.entropy.bytes(NONCE_BYTES).toString('base64'),
    role: item.sk,
    disallowReauthentication: parameters.disallow_reauthentication ?? false,
    allowInstanceMigration: parameters.allow_instance_migration ?? false,
    policies: policiesOf(parameters.policies, role),
    instanceId: parameters.instance_id ?? '',
    maxTtl: parameters.max_ttl ?? 0,
  }
  if (tag.instanceId.includes(':')) throw invalidRequestError('instance_id must not contain ":"')
  const key = await call.ports.cipher.decrypt(item, 'hmacKey', role.hmacKey)
  const value = renderRoleTag(tag, key)
  if (value.length > MAX_TAG_LENGTH)
    throw invalidRequestError(
      `the tag is longer than the ${MAX_TAG_LENGTH} characters that a tag’s value may have`,
    )
  return answer(
    dataAnswer({ tag_key: role.roleTag, tag_value: value }, warningsOf(tag, role, maxTtlOfMount(call.mount))),
  )
}

/**
 * Returns the policies of a tag. Without the parameter `policies` the tag names no policies, and logins get the
 * role's policies. An empty list of policies gives `default` only.
 */
function policiesOf(given: readonly string[] | undefined, role: Role): readonly string[] {
  if (given === undefined) return []
  if (given.some(name => !isPolicyName(name))) throw invalidRequestError(POLICY_NAMES_TEXT)
  const policies = sanitisePolicies(given)
  const wanted = policies.length === 0 ? [DEFAULT_POLICY_NAME] : policies
  if (!isTagWithinRole(wanted, role.token))
    throw invalidRequestError('tag policies must be a subset of the role’s policies')
  return wanted
}

function warningsOf(tag: RoleTag, role: Role, mountMax: number): string[] {
  const warnings: string[] = []
  if (tag.maxTtl > mountMax)
    warnings.push(`max_ttl exceeds the mount’s maximum (${mountMax} s); the mount’s maximum applies`)
  if (role.token.maxTtl > 0 && tag.maxTtl > role.token.maxTtl)
    warnings.push(
      `max_ttl exceeds the role’s token_max_ttl (${role.token.maxTtl} s); the role’s maximum applies`,
    )
  if (tag.allowInstanceMigration && !role.allowInstanceMigration) {
    warnings.push(
      'allow_instance_migration has no effect, because the role does not allow instance migration',
    )
  }
  return warnings
}
