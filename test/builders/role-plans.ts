import { readParameterFields } from '../../shared/api/fields.ts'
import { roleFields } from '../../shared/auth-method/roles/fields.ts'
import { planRole, type RolePlan } from '../../shared/auth-method/roles/plan.ts'
import type { Role } from '../../shared/model/role.ts'
import type { EncryptedText } from '../../shared/values/secret.ts'

export type Raw = Record<string, unknown>

/** Writes a new role, then changes it with each further request. Returns the last plan. */
export function plan(...requests: [Raw, ...Raw[]]): RolePlan {
  const steps = requests.reduce<RolePlan | undefined>(
    (before, raw) =>
      write(raw, before && { ...before.role, boundIamPrincipalIds: before.resolve.map(() => 'AROAOLD') }),
    undefined,
  )
  if (!steps) throw new Error('no request')
  return steps
}

export const write = (raw: Raw, stored?: Role, defaultAuthType: Role['authType'] = 'iam') =>
  planRole({
    ...(stored ? { stored } : {}),
    parameters: readParameterFields(roleFields, raw).parameters,
    defaultAuthType,
    jwtConfigured: true,
    aliasIsInstance: false,
    mountMax: 1000,
    fresh: { roleId: 'fresh id', hmacKey: 'fresh key' as EncryptedText, createdAt: 1000 },
  })

export const APP = 'arn:aws:iam::111122223333:role/app'
export const rawEc2 = { auth_type: 'ec2', bound_ami_id: 'ami-1' }
export const rawIam = { auth_type: 'iam', bound_iam_principal_arn: APP }
export const rawInferring = {
  ...rawIam,
  inferred_entity_type: 'ec2_instance',
  inferred_aws_region: 'eu-west-1',
}
