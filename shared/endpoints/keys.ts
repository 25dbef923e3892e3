import { byPolicy, type Group, row } from '../api/endpoint.ts'
import { prepareKeys, rotate, rotateFields, showKeyStatus } from '../replication/handlers/rotate.ts'

export const keysGroup: Group = {
  name: 'keys',
  endpoints: [
    row.post({
      path: '/sys/rotate',
      also: '/sys/rotate/keyring',
      summary: 'Rotate the keyring: add a term that encrypts from now on',
      fields: rotateFields,
      access: byPolicy('update', { sudo: true }),
      uses: ['key-factory'],
      prepare: prepareKeys,
      handle: rotate,
    }),
    row.get({
      path: '/sys/key-status',
      summary: 'The term that encrypts, and its start',
      mirrored: true,
      prepare: prepareKeys,
      handle: showKeyStatus,
    }),
  ],
}
