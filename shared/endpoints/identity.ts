import { type EndpointGroup, endpointRow, type SubjectPlace } from '../api/endpoint.ts'
import {
  createIdentityListing,
  deleteEntity,
  entityFields,
  entityLookupFields,
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

export const identityGroup: EndpointGroup = {
  name: 'identity',
  endpoints: [
    endpointRow.get({ ...entity, summary: 'Read an entity', handle: readEntity }),
    endpointRow.post({
      ...entity,
      summary: 'Change an entity: disable it, or set its policies',
      fields: entityFields,
      uses: ['write'],
      handle: writeEntity,
    }),
    endpointRow.delete({
      ...entity,
      summary: 'Delete an entity; its tokens become invalid',
      uses: ['write'],
      handle: deleteEntity,
    }),
    endpointRow.list({
      path: '/identity/entity/id',
      summary: 'List entities',
      handle: createIdentityListing('entity'),
    }),
    endpointRow.get({
      path: '/identity/entity-alias/id/:id',
      summary: 'Read an alias',
      subject: ({ pathParameters }) => key('alias-id', pathParameters['id'] ?? ''),
      handle: readAlias,
    }),
    endpointRow.list({
      path: '/identity/entity-alias/id',
      summary: 'List aliases',
      handle: createIdentityListing('alias-id'),
    }),
    endpointRow.post({
      path: '/identity/lookup/entity',
      summary: 'Find an entity by one of its names',
      fields: entityLookupFields,
      answers: 'data',
      handle: lookupEntity,
    }),
  ],
}
