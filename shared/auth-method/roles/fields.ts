import { boolField, listField, lowerTextField, type ParameterField, textField } from '../../api/fields.ts'
import { createTokenTermFields } from '../../tokens/parameters.ts'
import { type BindingName, bindingNames, instanceBindings } from './bindings.ts'
import { type ClaimBindingName, claimBindingNames, claimBindings } from './claim-bindings.ts'

const boundFields = Object.fromEntries(
  bindingNames.map(name => [name, instanceBindings[name].field]),
) as Record<BindingName, ParameterField<unknown>>

const claimFields = Object.fromEntries(
  claimBindingNames.map(name => [name, claimBindings[name].field]),
) as Record<ClaimBindingName, ParameterField<unknown>>

/** The request fields of a role. @see docs/spec/roles.md#write */
export const roleFields = {
  auth_type: lowerTextField(
    '`iam` (default), `ec2`, or `jwt` at mounts with `config/jwt`; fixed once the role exists',
  ),
  ...boundFields,
  ...claimFields,
  bound_iam_principal_arn: listField(
    'ARNs of IAM users and roles that may log in, with a trailing wildcard if wanted',
  ),
  inferred_entity_type: textField('`ec2_instance` to look up the instance behind an iam login'),
  inferred_aws_region: textField('Region in which instances are looked up'),
  allow_instance_identity_role: boolField(
    'Admit only EC2 instances with the credentials of their own role; needs `inferred_entity_type`',
  ),
  resolve_aws_unique_ids: boolField(
    'Bind principals by unique ID rather than by name; cannot be switched off later',
  ),
  role_tag: textField('Key of the instance tag that carries a role tag'),
  allow_instance_migration: boolField('Accept another nonce when the instance was stopped and started'),
  disallow_reauthentication: boolField('One login per instance until its access-list entry is deleted'),
  cap_to_session: boolField('jwt: tokens end with the role session of the caller'),
  revoke_on_termination: boolField('Tokens end with the instance that has logged in'),
  lease: textField('Accepted and ignored'),
  ...createTokenTermFields('role'),
}
