import { anyone, type Group, row } from '../api/endpoint.ts'
import { lookupWrapping, rewrap, unwrap, wrapBody, wrappingField } from '../tokens/unwrap.ts'

/** Anonymous, because the wrapping token itself authorises. */
const byToken = { fields: wrappingField, access: anyone } as const

export const wrappingGroup: Group = {
  name: 'wrapping',
  endpoints: [
    row.post({
      path: '/sys/wrapping/wrap',
      summary: 'Wrap what the body holds',
      uses: ['write'],
      answers: 'data',
      freeForm: true,
      handle: wrapBody,
    }),
    row.post({
      ...byToken,
      path: '/sys/wrapping/unwrap',
      summary: 'Open a wrapped answer, once',
      uses: ['write'],
      answers: 'data',
      handle: unwrap,
    }),
    row.post({
      ...byToken,
      path: '/sys/wrapping/lookup',
      summary: 'What is known of a wrapped answer',
      answers: 'data',
      handle: lookupWrapping,
    }),
    row.post({
      ...byToken,
      path: '/sys/wrapping/rewrap',
      summary: 'Exchange a wrapping token',
      uses: ['write'],
      answers: 'data',
      handle: rewrap,
    }),
  ],
}
