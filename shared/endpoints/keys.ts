import { allowByPolicy, type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import { prepareKeys, rotate, rotateFields, showKeyStatus } from '../replication/handlers/rotate.ts'

export const keysGroup: EndpointGroup = {
  name: 'keys',
  endpoints: [
    endpointRow.post({
      path: '/sys/rotate',
      also: '/sys/rotate/keyring',
      summary: 'Rotate the keyring: add a term that encrypts from now on',
      fields: rotateFields,
      access: allowByPolicy('update', { sudo: true }),
      uses: ['key-factory'],
      prepare: prepareKeys,
      handle: rotate,
    }),
    endpointRow.get({
      path: '/sys/key-status',
      summary: 'The term that encrypts, and its start',
      mirrored: true,
      prepare: prepareKeys,
      handle: showKeyStatus,
    }),
  ],
}
