import { allowAnyone, type EndpointGroup, endpointRow } from '../api/endpoint.ts'
import {
  lookUpWrappingToken,
  rewrapResponse,
  unwrapResponse,
  wrappingTokenField,
  wrapRequestBody,
} from '../tokens/unwrap.ts'

/** The endpoint is anonymous, because the wrapping token itself authorises. */
const byToken = { fields: wrappingTokenField, access: allowAnyone } as const

export const wrappingGroup: EndpointGroup = {
  name: 'wrapping',
  endpoints: [
    endpointRow.post({
      path: '/sys/wrapping/wrap',
      summary: 'Wrap the body of the request',
      uses: ['write'],
      answers: 'data',
      freeForm: true,
      handle: wrapRequestBody,
    }),
    endpointRow.post({
      ...byToken,
      path: '/sys/wrapping/unwrap',
      summary: 'Unwrap a response; works once',
      uses: ['write'],
      answers: 'data',
      handle: unwrapResponse,
    }),
    endpointRow.post({
      ...byToken,
      path: '/sys/wrapping/lookup',
      summary: 'Describe a wrapped response without unwrapping it',
      answers: 'data',
      handle: lookUpWrappingToken,
    }),
    endpointRow.post({
      ...byToken,
      path: '/sys/wrapping/rewrap',
      summary: 'Move a wrapped response to a new token',
      uses: ['write'],
      answers: 'data',
      handle: rewrapResponse,
    }),
  ],
}
