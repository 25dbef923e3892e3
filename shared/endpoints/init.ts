import { allowAnyone, type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import { initFields, initialiseNewCluster } from '../cluster/init.ts'

/** Not routed on AWS: an administrator invokes the Lambda directly. */
export const initGroup: EndpointGroup = {
  name: 'init',
  endpoints: [
    endpointRow.post({
      path: '/sys/init',
      summary: 'Initialise the cluster: keyring, recovery shares, root token',
      fields: initFields,
      access: allowAnyone,
      serves: 'always',
      uses: ['mint', 'write', 'key-factory', 'recovery'],
      answers: 'plain',
      unrouted: true,
      handle: initialiseNewCluster,
    }),
  ],
}
