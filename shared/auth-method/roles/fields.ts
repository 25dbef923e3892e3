import { bool, list, lowerText, text } from '../../api/fields.ts'
import { tokenFields } from '../../tokens/parameters.ts'
import { type BindingName, bindingNames, bindings } from '../bindings.ts'

type BoundFields = Record<BindingName, ReturnType<typeof list>>

const boundFields = Object.fromEntries(
  bindingNames.map(name => [name, list(`${bindings[name].doc}; any one must match`)]),
) as BoundFields

/** Fields of a role as requests carry them. @see interface 2.6 */
export const roleFields = {
  auth_type: lowerText('`iam` (default) or `ec2`; fixed once the role exists'),
  ...boundFields,
  bound_iam_principal_arn: list(
    'ARNs of IAM users and roles that may log in, with a trailing wildcard if wanted',
  ),
  inferred_entity_type: text('`ec2_instance` to look up the instance behind an iam login'),
  inferred_aws_region: text('Region in which instances are looked up'),
  resolve_aws_unique_ids: bool(
    'Bind principals by unique ID rather than by name; cannot be switched off later',
  ),
  role_tag: text('Key of the instance tag that carries a role tag'),
  allow_instance_migration: bool('Accept another nonce when the instance was stopped and started'),
  disallow_reauthentication: bool('One login per instance until its access-list entry is deleted'),
  lease: text('Accepted and ignored'),
  ...tokenFields,
}
