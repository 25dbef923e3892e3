import { allowByPolicy, type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import {
  handleRotate,
  prepareKeyRotation,
  rotateKeyringFields,
  showKeyStatus,
} from '../replication/handlers/rotate.ts'

export const keysGroup: EndpointGroup = {
  name: 'keys',
  endpoints: [
    endpointRow.post({
      path: '/sys/rotate',
      also: '/sys/rotate/keyring',
      summary: 'Rotate the keyring: add a key term, which encrypts all new writes',
      fields: rotateKeyringFields,
      access: allowByPolicy('update', { sudo: true }),
      uses: ['key-factory'],
      prepare: prepareKeyRotation,
      handle: handleRotate,
    }),
    endpointRow.get({
      path: '/sys/key-status',
      summary: 'Read the encrypting key term and its start',
      mirrored: true,
      prepare: prepareKeyRotation,
      handle: showKeyStatus,
    }),
  ],
}
