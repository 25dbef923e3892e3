import { type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import {
  renewAccessorFields,
  renewAccessorPhases,
  renewFields,
  renewPhases,
  renewSelfFields,
  renewSelfPhases,
} from '../auth-method/renewal/renew.ts'

/** A group of its own, because a renewal calls EC2 and IAM and needs their grants. */
const renewing = { uses: ['write', 'instances', 'principals'], answers: 'auth' } as const

export const renewalGroup: EndpointGroup = {
  name: 'renewal',
  endpoints: [
    endpointRow.post({
      ...renewing,
      path: '/auth/token/renew',
      summary: 'Renew a token',
      fields: renewFields,
      handle: { phases: () => renewPhases },
    }),
    endpointRow.post({
      ...renewing,
      path: '/auth/token/renew-self',
      summary: 'Renew the caller’s token',
      fields: renewSelfFields,
      handle: { phases: () => renewSelfPhases },
    }),
    endpointRow.post({
      ...renewing,
      path: '/auth/token/renew-accessor',
      summary: 'Renew a token by its accessor',
      fields: renewAccessorFields,
      handle: { phases: () => renewAccessorPhases },
    }),
  ],
}
