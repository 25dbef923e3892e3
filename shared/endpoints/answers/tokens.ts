import { termRows } from '../../tokens/terms.ts'
import { termsOf } from './method.ts'
import {
  type Answers,
  always,
  anything,
  bool,
  int,
  like,
  listOf,
  mapOf,
  named,
  none,
  object,
  orNull,
  saying,
  text,
  texts,
  time,
  told,
  words,
} from './shape.ts'

/** What a lookup shows of the terms that a token keeps. */
const keptTerms = (shown: 'shown' | 'shown where used') =>
  Object.fromEntries(
    termRows
      .filter(([_, { kept }]) => kept === shown)
      .map(([_, { name, neutral }]) => [name.replace(/^token_/, ''), like(neutral)]),
  )

const token = named(
  'Token',
  object(
    {
      id: saying(text, 'empty where the token itself is not to be shown'),
      accessor: saying(text, 'empty for a batch token'),
      type: words('service', 'batch'),
      path: text,
      display_name: text,
      policies: texts,
      identity_policies: texts,
      meta: orNull(mapOf(text)),
      entity_id: text,
      orphan: bool,
      renewable: bool,
      creation_time: saying(int, 'epoch seconds'),
      issue_time: time,
      creation_ttl: saying(int, 'seconds'),
      ttl: saying(int, 'seconds that are left'),
      expire_time: orNull(time),
      ...keptTerms('shown'),
    },
    {
      ...keptTerms('shown where used'),
      role: text,
      last_renewal: time,
      last_renewal_time: saying(int, 'epoch seconds'),
    },
  ),
)

const terms = termsOf('token-role')
const tokenRole = named(
  'TokenRole',
  object(
    {
      name: text,
      allowed_policies: texts,
      disallowed_policies: texts,
      allowed_policies_glob: texts,
      disallowed_policies_glob: texts,
      allowed_entity_aliases: texts,
      orphan: bool,
      renewable: bool,
      path_suffix: text,
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

  'POST /sys/wrapping/wrap': told('wrap', anything, { wrapped: 'always' }),
  'POST /sys/wrapping/unwrap': told('unwrap', undefined, {
    ...aToken,
    body: {
      type: 'object',
      additionalProperties: anything,
      description: 'the answer as it would have been; mostly an envelope',
    },
  }),
  'POST /sys/wrapping/lookup': told(
    'lookUpWrapping',
    object({ creation_path: text, creation_time: time, creation_ttl: saying(int, 'seconds') }),
    aToken,
  ),
  'POST /sys/wrapping/rewrap': told('rewrap', anything, { ...aToken, wrapped: 'always' }),
}

const alias = {
  id: text,
  canonical_id: saying(text, 'ID of the entity'),
  name: text,
  mount_accessor: text,
  mount_path: text,
  mount_type: text,
}
const wholeAlias = named(
  'EntityAlias',
  object({
    ...alias,
    metadata: mapOf(text),
    creation_time: time,
    last_update_time: time,
    local: bool,
    namespace_id: always('root'),
  }),
)
const { id: _id, ...aliasInfo } = alias
const { canonical_id: _entity, ...aliasOfEntity } = alias

const entity = named(
  'Entity',
  object({
    id: text,
    name: text,
    disabled: bool,
    policies: texts,
    metadata: mapOf(text),
    creation_time: time,
    last_update_time: time,
    aliases: listOf(wholeAlias),
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
    object({ name: text, aliases: listOf(object(aliasOfEntity)) }),
  ),
  'GET /identity/entity-alias/id/:id': told('readEntityAlias', wholeAlias),
  'LIST /identity/entity-alias/id': told('listEntityAliases', object({ ...aliasInfo, local: bool })),
  'POST /identity/lookup/entity': told('lookUpEntity', entity, {
    sent: { alias_name: 'AROAEXAMPLE', alias_mount_accessor: 'auth_cloud_8609694a' },
    orNothing: true,
  }),
}
