import { type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import { rotateRootCredentials } from '../auth-method/rotate-root/rotate.ts'
import { key } from '../storage/kinds.ts'

export const rotateRootGroup: EndpointGroup = {
  name: 'rotate-root',
  endpoints: [
    endpointRow.post({
      path: '/auth/:mount/config/rotate-root',
      summary: 'Rotate the configured access key',
      uses: ['write', 'access-keys'],
      answers: 'data',
      subject: ({ mount }) => key('client-config', mount),
      handle: rotateRootCredentials,
    }),
  ],
}
