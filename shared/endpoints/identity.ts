import { type Group, row, type SubjectPlace } from '../api/endpoint.ts'
import {
  deleteEntity,
  entityFields,
  entityLookupFields,
  listIdentities,
  lookupEntity,
  readAlias,
  readEntity,
  writeEntity,
} from '../identity/manage.ts'
import { key } from '../storage/kinds.ts'

const entity = {
  path: '/identity/entity/id/:id',
  subject: ({ pathParameters }: SubjectPlace) => key('entity', pathParameters['id'] ?? ''),
}

export const identityGroup: Group = {
  name: 'identity',
  endpoints: [
    row.get({ ...entity, summary: 'Read an entity', handle: readEntity }),
    row.post({
      ...entity,
      summary: 'Change an entity: disable it, or set its policies',
      fields: entityFields,
      uses: ['write'],
      handle: writeEntity,
    }),
    row.delete({
      ...entity,
      summary: 'Delete an entity; its tokens become invalid',
      uses: ['write'],
      handle: deleteEntity,
    }),
    row.list({ path: '/identity/entity/id', summary: 'List entities', handle: listIdentities('entity') }),
    row.get({
      path: '/identity/entity-alias/id/:id',
      summary: 'Read an alias',
      subject: ({ pathParameters }) => key('alias-id', pathParameters['id'] ?? ''),
      handle: readAlias,
    }),
    row.list({
      path: '/identity/entity-alias/id',
      summary: 'List aliases',
      handle: listIdentities('alias-id'),
    }),
    row.post({
      path: '/identity/lookup/entity',
      summary: 'Find an entity by one of its names',
      fields: entityLookupFields,
      answers: 'data',
      handle: lookupEntity,
    }),
  ],
}
