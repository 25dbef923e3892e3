import { answer, answerAfterChanges, type Call, type CallOutcome, dataAnswer } from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { listField, textField } from '../../api/fields.ts'
import { subjectKeyOf, subjectOf } from '../../api/subject.ts'
import type { IdentityConfig, MetadataSelection } from '../../model/config.ts'
import { replaceItem } from '../../storage/changes.ts'
import { toSortedSet } from '../../values/names.ts'

/** The values an alias name may be taken from. @see docs/spec/configuration.md#identity */
const aliasKinds = {
  iam: ['role_id', 'unique_id', 'canonical_arn', 'full_arn'],
  ec2: ['role_id', 'instance_id', 'image_id'],
} as const

/** Metadata that tokens and aliases may carry. The default metadata come first. */
const selectable = {
  iam: {
    defaults: ['account_id', 'auth_type'],
    extras: [
      'canonical_arn',
      'client_arn',
      'client_user_id',
      'inferred_aws_region',
      'inferred_entity_id',
      'inferred_entity_type',
    ],
  },
  ec2: { defaults: ['account_id', 'auth_type'], extras: ['ami_id', 'instance_id', 'region'] },
} as const

const metadataNames = (names: readonly string[]): string[] =>
  toSortedSet(names.map(name => name.trim().toLowerCase()))

export const identityConfigFields = {
  iam_alias: textField(`Name of the alias of an iam login: ${aliasKinds.iam.join(', ')}`),
  iam_metadata: listField(
    'Metadata of iam logins; `default` restores the default set, an empty list selects nothing',
    { counts: metadataNames },
  ),
  ec2_alias: textField(`Name of the alias of an ec2 login: ${aliasKinds.ec2.join(', ')}`),
  ec2_metadata: listField(
    'Metadata of ec2 logins; `default` restores the default set, an empty list selects nothing',
    { counts: metadataNames },
  ),
}

/** The identity configuration of a mount that was never configured. */
export const defaultIdentityConfig: IdentityConfig = {
  iamAlias: 'role_id',
  ec2Alias: 'role_id',
  iamMetadata: 'default',
  ec2Metadata: 'default',
}

/** Handles POST config/identity. An invalid field rejects the whole request. */
export function writeIdentityConfig(call: Call<typeof identityConfigFields>): CallOutcome {
  const stored = subjectOf(call, 'identity-config')
  const { parameters } = call
  const before = stored?.data ?? defaultIdentityConfig
  const next: IdentityConfig = {
    iamAlias: oneOf('iam_alias', aliasKinds.iam, parameters.iam_alias) ?? before.iamAlias,
    ec2Alias: oneOf('ec2_alias', aliasKinds.ec2, parameters.ec2_alias) ?? before.ec2Alias,
    iamMetadata: selection('iam', parameters.iam_metadata) ?? before.iamMetadata,
    ec2Metadata: selection('ec2', parameters.ec2_metadata) ?? before.ec2Metadata,
  }
  return answerAfterChanges([replaceItem(subjectKeyOf(call, 'identity-config'), stored, next)])
}

function oneOf<T extends string>(
  field: string,
  allowed: readonly T[],
  given: string | undefined,
): T | undefined {
  if (given === undefined) return undefined
  const found = allowed.find(name => name === given)
  if (!found) throw invalidRequestError(`${field} must be one of ${allowed.join(', ')}`)
  return found
}

function selection(type: 'iam' | 'ec2', given: readonly string[] | undefined): MetadataSelection | undefined {
  if (given === undefined) return undefined
  const names = metadataNames(given)
  if (names.length === 1 && names[0] === 'default') return 'default'
  if (names.includes('default'))
    throw invalidRequestError(`${type}_metadata: default cannot be combined with other fields`)
  const { defaults, extras } = selectable[type]
  const allowed: readonly string[] = [...defaults, ...extras]
  const unknown = names.find(name => !allowed.includes(name))
  if (unknown !== undefined) {
    throw invalidRequestError(
      `"${unknown}" is not a selectable metadata field; choose from ${allowed.join(', ')}`,
    )
  }
  return names
}

/** Handles GET config/identity. Returns the defaults if nothing is configured. */
export function readIdentityConfig(call: Call): CallOutcome {
  const config = subjectOf(call, 'identity-config')?.data ?? defaultIdentityConfig
  return answer(
    dataAnswer({
      iam_alias: config.iamAlias,
      iam_metadata: metadataNamesOf('iam', config),
      ec2_alias: config.ec2Alias,
      ec2_metadata: metadataNamesOf('ec2', config),
    }),
  )
}

/** Returns the names of the metadata that logins of a type carry. */
export function metadataNamesOf(type: 'iam' | 'ec2', config: IdentityConfig): readonly string[] {
  const chosen = type === 'iam' ? config.iamMetadata : config.ec2Metadata
  return chosen === 'default' ? selectable[type].defaults : chosen
}

/** Selects the configured metadata of a login and omits empty values. */
export const selectLoginMetadata = (
  names: readonly string[],
  known: Readonly<Record<string, string>>,
): Record<string, string> =>
  Object.fromEntries(names.flatMap(name => (known[name] ? [[name, known[name]] as const] : [])))
