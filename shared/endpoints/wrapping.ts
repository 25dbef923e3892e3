import { anyone, type Group, row } from '../api/endpoint.ts'
import { lookupWrapping, rewrap, unwrap, wrapBody, wrappingField } from '../tokens/unwrap.ts'

/** Anonymous, because the wrapping token itself authorises. */
const byToken = { fields: wrappingField, access: anyone } as const

export const wrappingGroup: Group = {
  name: 'wrapping',
  endpoints: [
    row.post({
      path: '/sys/wrapping/wrap',
      summary: 'Wrap the body of the request',
      uses: ['write'],
      answers: 'data',
      freeForm: true,
      handle: wrapBody,
    }),
    row.post({
      ...byToken,
      path: '/sys/wrapping/unwrap',
      summary: 'Unwrap a response; works once',
      uses: ['write'],
      answers: 'data',
      handle: unwrap,
    }),
    row.post({
      ...byToken,
      path: '/sys/wrapping/lookup',
      summary: 'Describe a wrapped response without unwrapping it',
      answers: 'data',
      handle: lookupWrapping,
    }),
    row.post({
      ...byToken,
      path: '/sys/wrapping/rewrap',
      summary: 'Move a wrapped response to a new token',
      uses: ['write'],
      answers: 'data',
      handle: rewrap,
    }),
  ],
}
