import { type Group, row } from '../api/endpoint.ts'
import { rotateRoot } from '../auth-method/rotate-root/rotate.ts'
import { key } from '../storage/kinds.ts'

export const rotateRootGroup: Group = {
  name: 'rotate-root',
  endpoints: [
    row.post({
      path: '/auth/:mount/config/rotate-root',
      summary: 'Rotate the configured access key',
      uses: ['write', 'access-keys'],
      answers: 'data',
      subject: ({ mount }) => key('client-config', mount),
      handle: rotateRoot,
    }),
  ],
}
