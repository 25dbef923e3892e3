import { endpoint, type Group, policy } from '../api/endpoint.ts'
import { keyStatus, prepareKeys, rotate, rotateFields } from '../replication/handlers/rotate.ts'

export const keysGroup: Group = {
  name: 'keys',
  endpoints: [
    endpoint({
      method: 'POST',
      path: '/sys/rotate',
      also: '/sys/rotate/keyring',
      summary: 'Add a term to the keyring: what is encrypted from now on is encrypted by it',
      fields: rotateFields,
      access: policy('update', { sudo: true }),
      uses: ['key-factory'],
      answers: 'nothing',
      prepare: prepareKeys,
      handle: rotate,
    }),
    endpoint({
      method: 'GET',
      path: '/sys/key-status',
      summary: 'The term that encrypts, and since when',
      access: policy('read'),
      answers: 'data',
      mirrored: true,
      prepare: prepareKeys,
      handle: keyStatus,
    }),
  ],
}
