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
      summary: 'Rotate the keyring: add a term that encrypts from now on',
      fields: rotateKeyringFields,
      access: allowByPolicy('update', { sudo: true }),
      uses: ['key-factory'],
      prepare: prepareKeyRotation,
      handle: handleRotate,
    }),
    endpointRow.get({
      path: '/sys/key-status',
      summary: 'The term that encrypts, and its start',
      mirrored: true,
      prepare: prepareKeyRotation,
      handle: showKeyStatus,
    }),
  ],
}
