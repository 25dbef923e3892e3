import { type Group, row } from '../api/endpoint.ts'
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

export const renewalGroup: Group = {
  name: 'renewal',
  endpoints: [
    row.post({
      ...renewing,
      path: '/auth/token/renew',
      summary: 'Renew a token',
      fields: renewFields,
      handle: { phases: () => renewPhases },
    }),
    row.post({
      ...renewing,
      path: '/auth/token/renew-self',
      summary: 'Renew the caller’s token',
      fields: renewSelfFields,
      handle: { phases: () => renewSelfPhases },
    }),
    row.post({
      ...renewing,
      path: '/auth/token/renew-accessor',
      summary: 'Renew a token by its accessor',
      fields: renewAccessorFields,
      handle: { phases: () => renewAccessorPhases },
    }),
  ],
}
