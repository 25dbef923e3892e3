import { anyone, type Group, row } from '../api/endpoint.ts'
import { initFields, initialise } from '../cluster/init.ts'

/** Not routed on AWS: an administrator invokes the Lambda directly. */
export const initGroup: Group = {
  name: 'init',
  endpoints: [
    row.post({
      path: '/sys/init',
      summary: 'Initialise the cluster: keyring, recovery shares, root token',
      fields: initFields,
      access: anyone,
      serves: 'always',
      uses: ['mint', 'write', 'key-factory', 'recovery'],
      answers: 'plain',
      unrouted: true,
      handle: initialise,
    }),
  ],
}
