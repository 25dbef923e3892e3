import { type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import { explainLoginPhases } from '../auth-method/explain.ts'
import { loginFields } from '../auth-method/login/fields.ts'
import { key } from '../storage/kinds.ts'

/** A group of its own, because it makes the same AWS calls as a login and needs the same grants. */
export const explainGroup: EndpointGroup = {
  name: 'explain',
  endpoints: [
    endpointRow.post({
      path: '/auth/:mount/role/:role/explain',
      summary: 'Run every check of a login and report each, without logging in',
      fields: loginFields,
      uses: ['instances', 'principals', 'caller-identity', 'issuer-keys'],
      answers: 'data',
      subject: ({ mount, pathParameters }) => key('role', mount, pathParameters['role'] ?? ''),
      handle: { phases: () => explainLoginPhases },
    }),
  ],
}
