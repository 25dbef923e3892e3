import { anyone, endpoint, type Group, policy } from '../api/endpoint.ts'
import { lookupWrapping, rewrap, unwrap, wrapGiven, wrappingField } from '../tokens/unwrap.ts'

/** For anyone: the wrapping token itself is the authority. */
const byToken = { method: 'POST', fields: wrappingField, access: anyone } as const

export const wrappingGroup: Group = {
  name: 'wrapping',
  endpoints: [
    endpoint({
      method: 'POST',
      path: '/sys/wrapping/wrap',
      summary: 'Wrap what the body holds',
      access: policy('update'),
      uses: ['write'],
      answers: 'data',
      freeForm: true,
      handle: wrapGiven,
    }),
    endpoint({
      ...byToken,
      path: '/sys/wrapping/unwrap',
      summary: 'Open a wrapped answer, once',
      uses: ['write'],
      answers: 'data',
      handle: unwrap,
    }),
    endpoint({
      ...byToken,
      path: '/sys/wrapping/lookup',
      summary: 'What is known of a wrapped answer',
      answers: 'data',
      handle: lookupWrapping,
    }),
    endpoint({
      ...byToken,
      path: '/sys/wrapping/rewrap',
      summary: 'Exchange a wrapping token',
      uses: ['write'],
      answers: 'data',
      handle: rewrap,
    }),
  ],
}
