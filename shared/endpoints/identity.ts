import { endpoint, type Group, policy, type SubjectPlace } from '../api/endpoint.ts'
import { listFields } from '../api/listing.ts'
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
  subject: ({ params }: SubjectPlace) => key('entity', params['id'] ?? ''),
}

export const identityGroup: Group = {
  name: 'identity',
  endpoints: [
    endpoint({
      ...entity,
      method: 'GET',
      summary: 'Read an entity',
      access: policy('read'),
      answers: 'data',
      handle: readEntity,
    }),
    endpoint({
      ...entity,
      method: 'POST',
      summary: 'Change an entity: disable it, give it policies',
      fields: entityFields,
      access: policy('update'),
      uses: ['write'],
      answers: 'nothing',
      handle: writeEntity,
    }),
    endpoint({
      ...entity,
      method: 'DELETE',
      summary: 'Delete an entity: its tokens go',
      access: policy('delete'),
      uses: ['write'],
      answers: 'nothing',
      handle: deleteEntity,
    }),
    endpoint({
      method: 'LIST',
      path: '/identity/entity/id',
      summary: 'List entities',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listIdentities('entity'),
    }),
    endpoint({
      method: 'GET',
      path: '/identity/entity-alias/id/:id',
      summary: 'Read an alias',
      access: policy('read'),
      answers: 'data',
      subject: ({ params }) => key('alias-id', params['id'] ?? ''),
      handle: readAlias,
    }),
    endpoint({
      method: 'LIST',
      path: '/identity/entity-alias/id',
      summary: 'List aliases',
      fields: listFields,
      access: policy('list'),
      answers: 'keys',
      handle: listIdentities('alias-id'),
    }),
    endpoint({
      method: 'POST',
      path: '/identity/lookup/entity',
      summary: 'Find an entity by one of its names',
      fields: entityLookupFields,
      access: policy('update'),
      answers: 'data',
      handle: lookupEntity,
    }),
  ],
}
