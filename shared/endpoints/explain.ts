import { type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import { explainLoginPhases } from '../auth-method/explain.ts'
import { loginFields } from '../auth-method/login/fields.ts'
import {
  reviewMountFields,
  reviewMountPhases,
  reviewRoleFields,
  reviewRolePhases,
} from '../auth-method/review/review.ts'
import { key } from '../storage/kinds.ts'

const review = { path: '/auth/:mount/review', uses: ['principals'] } as const

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
    endpointRow.get({
      ...review,
      summary: 'Review the mount: weak settings, roles and certificates, worst first',
      fields: reviewMountFields,
      handle: { phases: () => reviewMountPhases },
    }),
    endpointRow.post({
      ...review,
      summary: 'Review a role before it is written; nothing is stored',
      fields: reviewRoleFields,
      answers: 'data',
      handle: { phases: () => reviewRolePhases },
    }),
  ],
}
