import { tokenTermRows } from '../../tokens/terms.ts'
import {
  anyShape,
  arrayShape,
  constShape,
  enumShape,
  flagShape,
  intShape,
  mapShape,
  nullableShape,
  nullShape,
  objectShape,
  textArrayShape,
  textShape,
  timeShape,
  withDescription,
  withTitle,
} from '../../values/shape.ts'
import { type AnswerDescriptions, describeAnswer, shapeOfValue } from './describe.ts'
import { tokenTermShapes } from './method.ts'

/** Returns the shapes of the token parameters that a lookup shows. */
const keptTerms = (shown: 'shown' | 'shown where used') =>
  Object.fromEntries(
    tokenTermRows
      .filter(([_, { kept }]) => kept === shown)
      .map(([_, { name, neutral }]) => [name.replace(/^token_/, ''), shapeOfValue(neutral)]),
  )

const token = withTitle(
  'Token',
  objectShape(
    {
      id: withDescription(textShape, 'empty in answers that do not show the token'),
      accessor: withDescription(textShape, 'empty for a batch token'),
      type: enumShape('service', 'batch'),
      path: textShape,
      display_name: textShape,
      policies: textArrayShape,
      identity_policies: textArrayShape,
      meta: nullableShape(mapShape(textShape)),
      entity_id: textShape,
      orphan: flagShape,
      renewable: flagShape,
      creation_time: withDescription(intShape, 'epoch seconds'),
      issue_time: timeShape,
      creation_ttl: withDescription(intShape, 'seconds'),
      ttl: withDescription(intShape, 'remaining lifetime in seconds'),
      expire_time: nullableShape(timeShape),
      ...keptTerms('shown'),
    },
    {
      ...keptTerms('shown where used'),
      role: textShape,
      last_renewal: timeShape,
      last_renewal_time: withDescription(intShape, 'epoch seconds'),
    },
  ),
)

const terms = tokenTermShapes('token-role')
const tokenRole = withTitle(
  'TokenRole',
  objectShape(
    {
      name: textShape,
      allowed_policies: textArrayShape,
      disallowed_policies: textArrayShape,
      allowed_policies_glob: textArrayShape,
      disallowed_policies_glob: textArrayShape,
      allowed_entity_aliases: textArrayShape,
      orphan: flagShape,
      renewable: flagShape,
      path_suffix: textShape,
      ...terms.required,
    },
    terms.optional,
  ),
)

const aToken = { requestExample: { token: 'hvs.CAESIJ' } }
const anAccessor = { requestExample: { accessor: '8609694a7cdc' } }
const newToken = { requestExample: { policies: ['web'], ttl: '1h' } }

/** Responses about tokens and wrapped responses. */
export const tokenAnswers: AnswerDescriptions = {
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

  'POST /sys/wrapping/wrap': describeAnswer('wrap', anyShape, { wrapped: 'always' }),
  'POST /sys/wrapping/unwrap': describeAnswer('unwrap', undefined, {
    ...aToken,
    body: {
      type: 'object',
      additionalProperties: anyShape,
      description: 'the response that was wrapped, usually a full response envelope',
    },
  }),
  'POST /sys/wrapping/lookup': describeAnswer(
    'lookUpWrapping',
    objectShape({
      creation_path: textShape,
      creation_time: timeShape,
      creation_ttl: withDescription(intShape, 'seconds'),
    }),
    aToken,
  ),
  'POST /sys/wrapping/rewrap': describeAnswer('rewrap', anyShape, { ...aToken, wrapped: 'always' }),
}

const alias = {
  id: textShape,
  canonical_id: withDescription(textShape, 'ID of the entity'),
  name: textShape,
  mount_accessor: textShape,
  mount_path: textShape,
  mount_type: textShape,
}
const wholeAlias = withTitle(
  'EntityAlias',
  objectShape({
    ...alias,
    metadata: mapShape(textShape),
    creation_time: timeShape,
    last_update_time: timeShape,
    local: flagShape,
    namespace_id: constShape('root'),
  }),
)
const { id: _id, ...aliasInfo } = alias
const { canonical_id: _entity, ...aliasOfEntity } = alias

const entity = withTitle(
  'Entity',
  objectShape({
    id: textShape,
    name: textShape,
    disabled: flagShape,
    policies: textArrayShape,
    metadata: mapShape(textShape),
    creation_time: timeShape,
    last_update_time: timeShape,
    aliases: arrayShape(wholeAlias),
    group_ids: textArrayShape,
    direct_group_ids: textArrayShape,
    inherited_group_ids: textArrayShape,
    merged_entity_ids: nullShape,
    namespace_id: constShape('root'),
  }),
)

/** Responses about entities and aliases. */
export const identityAnswers: AnswerDescriptions = {
  'GET /identity/entity/id/:id': describeAnswer('readEntity', entity),
  'POST /identity/entity/id/:id': describeAnswer('writeEntity', undefined, {
    requestExample: { policies: ['web'] },
  }),
  'DELETE /identity/entity/id/:id': describeAnswer('deleteEntity'),
  'LIST /identity/entity/id': describeAnswer(
    'listEntities',
    objectShape({ name: textShape, aliases: arrayShape(objectShape(aliasOfEntity)) }),
  ),
  'GET /identity/entity-alias/id/:id': describeAnswer('readEntityAlias', wholeAlias),
  'LIST /identity/entity-alias/id': describeAnswer(
    'listEntityAliases',
    objectShape({ ...aliasInfo, local: flagShape }),
  ),
  'POST /identity/lookup/entity': describeAnswer('lookUpEntity', entity, {
    requestExample: { alias_name: 'AROAEXAMPLE', alias_mount_accessor: 'auth_cloud_8609694a' },
    mayBeEmpty: true,
  }),
}
