import { termRows } from '../../tokens/terms.ts'
import {
  aFlag,
  always,
  anInt,
  anyValue,
  aText,
  aTime,
  manyOf,
  mapOf,
  none,
  object,
  orNull,
  saying,
  texts,
  titled,
  words,
} from '../../values/shape.ts'
import { termShapes } from './method.ts'
import { type Answers, like, told } from './told.ts'

/** What a lookup shows of the terms that a token keeps. */
const keptTerms = (shown: 'shown' | 'shown where used') =>
  Object.fromEntries(
    termRows
      .filter(([_, { kept }]) => kept === shown)
      .map(([_, { name, neutral }]) => [name.replace(/^token_/, ''), like(neutral)]),
  )

const token = titled(
  'Token',
  object(
    {
      id: saying(aText, 'empty where the token itself is not to be shown'),
      accessor: saying(aText, 'empty for a batch token'),
      type: words('service', 'batch'),
      path: aText,
      display_name: aText,
      policies: texts,
      identity_policies: texts,
      meta: orNull(mapOf(aText)),
      entity_id: aText,
      orphan: aFlag,
      renewable: aFlag,
      creation_time: saying(anInt, 'epoch seconds'),
      issue_time: aTime,
      creation_ttl: saying(anInt, 'seconds'),
      ttl: saying(anInt, 'seconds that are left'),
      expire_time: orNull(aTime),
      ...keptTerms('shown'),
    },
    {
      ...keptTerms('shown where used'),
      role: aText,
      last_renewal: aTime,
      last_renewal_time: saying(anInt, 'epoch seconds'),
    },
  ),
)

const terms = termShapes('token-role')
const tokenRole = titled(
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

const aToken = { sent: { token: 'hvs.CAESIJ' } }
const anAccessor = { sent: { accessor: '8609694a7cdc' } }
const newToken = { sent: { policies: ['web'], ttl: '1h' } }

/** Tokens, and answers that wait behind one. */
export const tokenAnswers: Answers = {
  'POST /auth/token/lookup': told('lookUpToken', token, aToken),
  'GET /auth/token/lookup': told('lookUpTokenByQuery', token),
  'GET /auth/token/lookup-self': told('lookUpOwnToken', token),
  'POST /auth/token/lookup-self': told('lookUpOwnTokenByPost', token),
  'POST /auth/token/lookup-accessor': told('lookUpAccessor', token, anAccessor),
  'POST /auth/token/revoke': told('revokeToken', undefined, aToken),
  'POST /auth/token/revoke-self': told('revokeOwnToken'),
  'POST /auth/token/revoke-accessor': told('revokeAccessor', undefined, anAccessor),
  'POST /auth/token/revoke-orphan': told('revokeTokenButNotChildren', undefined, aToken),
  'POST /auth/token/create': told('createToken', undefined, newToken),
  'POST /auth/token/create-orphan': told('createOrphanToken', undefined, newToken),
  'POST /auth/token/create/:role_name': told('createTokenByRole', undefined, newToken),
  'LIST /auth/token/accessors': told('listAccessors'),
  'POST /auth/token/tidy': told('tidyTokens'),
  'POST /auth/token/roles/:role_name': told('writeTokenRole', undefined, {
    sent: { allowed_policies: ['web'], orphan: true },
  }),
  'GET /auth/token/roles/:role_name': told('readTokenRole', tokenRole),
  'DELETE /auth/token/roles/:role_name': told('deleteTokenRole'),
  'LIST /auth/token/roles': told('listTokenRoles'),
  'POST /auth/token/renew': told('renewToken', undefined, aToken),
  'POST /auth/token/renew-self': told('renewOwnToken', undefined, { sent: { increment: '1h' } }),
  'POST /auth/token/renew-accessor': told('renewAccessor', undefined, anAccessor),

  'POST /sys/wrapping/wrap': told('wrap', anyValue, { wrapped: 'always' }),
  'POST /sys/wrapping/unwrap': told('unwrap', undefined, {
    ...aToken,
    body: {
      type: 'object',
      additionalProperties: anyValue,
      description: 'the answer as it would have been; mostly an envelope',
    },
  }),
  'POST /sys/wrapping/lookup': told(
    'lookUpWrapping',
    object({ creation_path: aText, creation_time: aTime, creation_ttl: saying(anInt, 'seconds') }),
    aToken,
  ),
  'POST /sys/wrapping/rewrap': told('rewrap', anyValue, { ...aToken, wrapped: 'always' }),
}

const alias = {
  id: aText,
  canonical_id: saying(aText, 'ID of the entity'),
  name: aText,
  mount_accessor: aText,
  mount_path: aText,
  mount_type: aText,
}
const wholeAlias = titled(
  'EntityAlias',
  object({
    ...alias,
    metadata: mapOf(aText),
    creation_time: aTime,
    last_update_time: aTime,
    local: aFlag,
    namespace_id: always('root'),
  }),
)
const { id: _id, ...aliasInfo } = alias
const { canonical_id: _entity, ...aliasOfEntity } = alias

const entity = titled(
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
    merged_entity_ids: none,
    namespace_id: always('root'),
  }),
)

/** Who somebody is over several logins. */
export const identityAnswers: Answers = {
  'GET /identity/entity/id/:id': told('readEntity', entity),
  'POST /identity/entity/id/:id': told('writeEntity', undefined, { sent: { policies: ['web'] } }),
  'DELETE /identity/entity/id/:id': told('deleteEntity'),
  'LIST /identity/entity/id': told(
    'listEntities',
    object({ name: aText, aliases: manyOf(object(aliasOfEntity)) }),
  ),
  'GET /identity/entity-alias/id/:id': told('readEntityAlias', wholeAlias),
  'LIST /identity/entity-alias/id': told('listEntityAliases', object({ ...aliasInfo, local: aFlag })),
  'POST /identity/lookup/entity': told('lookUpEntity', entity, {
    sent: { alias_name: 'AROAEXAMPLE', alias_mount_accessor: 'auth_cloud_8609694a' },
    orNothing: true,
  }),
}
