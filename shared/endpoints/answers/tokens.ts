import { termRows } from '../../tokens/terms.ts'
import {
  aFlag,
  anInt,
  anyValue,
  aText,
  aTime,
  constOf,
  enumOf,
  manyOf,
  mapOf,
  nullShape,
  object,
  orNull,
  texts,
  withDescription,
  withTitle,
} from '../../values/shape.ts'
import { type Answers, describeAnswer, shapeLike } from './describe.ts'
import { termShapes } from './method.ts'

/** Returns the shapes of the token parameters that a lookup shows. */
const keptTerms = (shown: 'shown' | 'shown where used') =>
  Object.fromEntries(
    termRows
      .filter(([_, { kept }]) => kept === shown)
      .map(([_, { name, neutral }]) => [name.replace(/^token_/, ''), shapeLike(neutral)]),
  )

const token = withTitle(
  'Token',
  object(
    {
      id: withDescription(aText, 'empty where the token itself is not to be shown'),
      accessor: withDescription(aText, 'empty for a batch token'),
      type: enumOf('service', 'batch'),
      path: aText,
      display_name: aText,
      policies: texts,
      identity_policies: texts,
      meta: orNull(mapOf(aText)),
      entity_id: aText,
      orphan: aFlag,
      renewable: aFlag,
      creation_time: withDescription(anInt, 'epoch seconds'),
      issue_time: aTime,
      creation_ttl: withDescription(anInt, 'seconds'),
      ttl: withDescription(anInt, 'seconds that are left'),
      expire_time: orNull(aTime),
      ...keptTerms('shown'),
    },
    {
      ...keptTerms('shown where used'),
      role: aText,
      last_renewal: aTime,
      last_renewal_time: withDescription(anInt, 'epoch seconds'),
    },
  ),
)

const terms = termShapes('token-role')
const tokenRole = withTitle(
  'TokenRole',
  object(
    {
      name: aText,
      allowed_policies: texts,
      disallowed_policies: texts,
      allowed_policies_glob: texts,
      disallowed_policies_glob: texts,
      allowed_entity_aliases: texts,
      orphan: aFlag,
      renewable: aFlag,
      path_suffix: aText,
      ...terms.required,
    },
    terms.optional,
  ),
)

const aToken = { requestExample: { token: 'hvs.CAESIJ' } }
const anAccessor = { requestExample: { accessor: '8609694a7cdc' } }
const newToken = { requestExample: { policies: ['web'], ttl: '1h' } }

/** Responses about tokens and wrapped responses. */
export const tokenAnswers: Answers = {
  'POST /auth/token/lookup': describeAnswer('lookUpToken', token, aToken),
  'GET /auth/token/lookup': describeAnswer('lookUpTokenByQuery', token),
  'GET /auth/token/lookup-self': describeAnswer('lookUpOwnToken', token),
  'POST /auth/token/lookup-self': describeAnswer('lookUpOwnTokenByPost', token),
  'POST /auth/token/lookup-accessor': describeAnswer('lookUpAccessor', token, anAccessor),
  'POST /auth/token/revoke': describeAnswer('revokeToken', undefined, aToken),
  'POST /auth/token/revoke-self': describeAnswer('revokeOwnToken'),
  'POST /auth/token/revoke-accessor': describeAnswer('revokeAccessor', undefined, anAccessor),
  'POST /auth/token/revoke-orphan': describeAnswer('revokeTokenButNotChildren', undefined, aToken),
  'POST /auth/token/create': describeAnswer('createToken', undefined, newToken),
  'POST /auth/token/create-orphan': describeAnswer('createOrphanToken', undefined, newToken),
  'POST /auth/token/create/:role_name': describeAnswer('createTokenByRole', undefined, newToken),
  'LIST /auth/token/accessors': describeAnswer('listAccessors'),
  'POST /auth/token/tidy': describeAnswer('tidyTokens'),
  'POST /auth/token/roles/:role_name': describeAnswer('writeTokenRole', undefined, {
    requestExample: { allowed_policies: ['web'], orphan: true },
  }),
  'GET /auth/token/roles/:role_name': describeAnswer('readTokenRole', tokenRole),
  'DELETE /auth/token/roles/:role_name': describeAnswer('deleteTokenRole'),
  'LIST /auth/token/roles': describeAnswer('listTokenRoles'),
  'POST /auth/token/renew': describeAnswer('renewToken', undefined, aToken),
  'POST /auth/token/renew-self': describeAnswer('renewOwnToken', undefined, {
    requestExample: { increment: '1h' },
  }),
  'POST /auth/token/renew-accessor': describeAnswer('renewAccessor', undefined, anAccessor),

  'POST /sys/wrapping/wrap': describeAnswer('wrap', anyValue, { wrapped: 'always' }),
  'POST /sys/wrapping/unwrap': describeAnswer('unwrap', undefined, {
    ...aToken,
    body: {
      type: 'object',
      additionalProperties: anyValue,
      description: 'the answer as it would have been; mostly an envelope',
    },
  }),
  'POST /sys/wrapping/lookup': describeAnswer(
    'lookUpWrapping',
    object({ creation_path: aText, creation_time: aTime, creation_ttl: withDescription(anInt, 'seconds') }),
    aToken,
  ),
  'POST /sys/wrapping/rewrap': describeAnswer('rewrap', anyValue, { ...aToken, wrapped: 'always' }),
}

const alias = {
  id: aText,
  canonical_id: withDescription(aText, 'ID of the entity'),
  name: aText,
  mount_accessor: aText,
  mount_path: aText,
  mount_type: aText,
}
const wholeAlias = withTitle(
  'EntityAlias',
  object({
    ...alias,
    metadata: mapOf(aText),
    creation_time: aTime,
    last_update_time: aTime,
    local: aFlag,
    namespace_id: constOf('root'),
  }),
)
const { id: _id, ...aliasInfo } = alias
const { canonical_id: _entity, ...aliasOfEntity } = alias

const entity = withTitle(
  'Entity',
  object({
    id: aText,
    name: aText,
    disabled: aFlag,
    policies: texts,
    metadata: mapOf(aText),
    creation_time: aTime,
    last_update_time: aTime,
    aliases: manyOf(wholeAlias),
    group_ids: texts,
    direct_group_ids: texts,
    inherited_group_ids: texts,
    merged_entity_ids: nullShape,
    namespace_id: constOf('root'),
  }),
)

/** Responses about entities and aliases. */
export const identityAnswers: Answers = {
  'GET /identity/entity/id/:id': describeAnswer('readEntity', entity),
  'POST /identity/entity/id/:id': describeAnswer('writeEntity', undefined, {
    requestExample: { policies: ['web'] },
  }),
  'DELETE /identity/entity/id/:id': describeAnswer('deleteEntity'),
  'LIST /identity/entity/id': describeAnswer(
    'listEntities',
    object({ name: aText, aliases: manyOf(object(aliasOfEntity)) }),
  ),
  'GET /identity/entity-alias/id/:id': describeAnswer('readEntityAlias', wholeAlias),
  'LIST /identity/entity-alias/id': describeAnswer(
    'listEntityAliases',
    object({ ...aliasInfo, local: aFlag }),
  ),
  'POST /identity/lookup/entity': describeAnswer('lookUpEntity', entity, {
    requestExample: { alias_name: 'AROAEXAMPLE', alias_mount_accessor: 'auth_cloud_8609694a' },
    mayBeEmpty: true,
  }),
}
