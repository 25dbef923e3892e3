import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  type MountCall,
} from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { listField, textField } from '../../api/fields.ts'
import { subjectKeyOf, subjectOf } from '../../api/subject.ts'
import type { IdentityConfig, MetadataSelection } from '../../model/config.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { toSortedSet } from '../../values/names.ts'
import { defaultIdentityConfig, loginMetadata, metadataNamesOf } from '../login/metadata.ts'
import {
  isJwtMetadata,
  jwtAliasKinds,
  jwtAliasOf,
  jwtMetadataNames,
  jwtMetadataOf,
  normaliseJwtMetadata,
} from './identity-jwt.ts'

/** The values an alias name may be taken from. @see docs/spec/configuration.md#identity */
const aliasKinds = {
  iam: ['role_id', 'unique_id', 'canonical_arn', 'full_arn'],
  ec2: ['role_id', 'instance_id', 'image_id'],
} as const

const metadataNames = (names: readonly string[]): string[] =>
  toSortedSet(names.map(name => name.trim().toLowerCase()))

const jwtMetadataSet = (names: readonly string[]): string[] => toSortedSet(names.map(normaliseJwtMetadata))

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
  jwt_alias: textField(`Name of the alias of a login by token: ${jwtAliasKinds.join(', ')}`),
  jwt_metadata: listField(
    'Metadata of logins by token, also `tag:<key>` and `request_tag:<key>`; `default` restores the default set, an empty list selects nothing',
    { counts: jwtMetadataSet },
  ),
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
    ...defined({
      jwtAlias: oneOf('jwt_alias', jwtAliasKinds, parameters.jwt_alias) ?? before.jwtAlias,
      jwtMetadata: jwtSelection(parameters.jwt_metadata) ?? before.jwtMetadata,
      usesTrackedSince: before.usesTrackedSince,
    }),
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
  const { defaults, extras } = loginMetadata[type]
  const allowed: readonly string[] = [...defaults, ...extras]
  return given && selectionOf(type, metadataNames(given), allowed, name => allowed.includes(name))
}

const jwtSelection = (given: readonly string[] | undefined): MetadataSelection | undefined =>
  given &&
  selectionOf(
    'jwt',
    jwtMetadataSet(given),
    [...jwtMetadataNames, 'tag:<key>', 'request_tag:<key>'],
    isJwtMetadata,
  )

function selectionOf(
  type: string,
  names: readonly string[],
  allowed: readonly string[],
  isAllowed: (name: string) => boolean,
): MetadataSelection {
  if (names.length === 1 && names[0] === 'default') return 'default'
  if (names.includes('default'))
    throw invalidRequestError(`${type}_metadata: default cannot be combined with other fields`)
  const unknown = names.find(name => !isAllowed(name))
  if (unknown !== undefined) {
    throw invalidRequestError(
      `"${unknown}" is not a selectable metadata field; choose from ${allowed.join(', ')}`,
    )
  }
  return names
}

/** Handles GET config/identity. Returns the defaults if nothing is configured. */
export async function readIdentityConfig(call: MountCall): Promise<CallOutcome> {
  const config = subjectOf(call, 'identity-config')?.data ?? defaultIdentityConfig
  const [jwt] = await call.ports.store.read([key('jwt-config', call.mount.accessor)])
  return answer(
    dataAnswer({
      iam_alias: config.iamAlias,
      iam_metadata: metadataNamesOf('iam', config),
      ec2_alias: config.ec2Alias,
      ec2_metadata: metadataNamesOf('ec2', config),
      ...(jwt ? { jwt_alias: jwtAliasOf(config), jwt_metadata: jwtMetadataOf(config) } : {}),
    }),
  )
}
