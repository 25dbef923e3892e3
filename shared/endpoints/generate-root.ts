import { anyone, endpoint, type Group } from '../api/endpoint.ts'
import { shareFields, startFields } from '../ceremony/attempt.ts'
import { rootCeremony } from '../ceremony/generate-root.ts'
import { prepareSlot } from '../ceremony/slot.ts'

/** The shares are the authority, so nobody is asked for a token. */
const ceremony = {
  access: anyone,
  uses: ['ceremony'],
  unrouted: true,
  secretAnswers: ['nonce', 'otp', 'encoded_token', 'encoded_root_token'],
  mirrored: true,
  largestBody: 65_536,
  prepare: prepareSlot,
} as const

const attempt = { ...ceremony, path: '/sys/generate-root/attempt', also: '/sys/generate-root' } as const

/** Not routed on AWS: holders of shares invoke the Lambda directly, each with the own share alone. */
export const generateRootGroup: Group = {
  name: 'generate-root',
  endpoints: [
    endpoint({
      ...attempt,
      method: 'GET',
      summary: 'State of the attempt to make a root token from recovery shares',
      answers: 'data',
      handle: rootCeremony.show,
    }),
    endpoint({
      ...attempt,
      method: 'POST',
      summary: 'Start an attempt to make a root token from recovery shares',
      fields: startFields,
      answers: 'data',
      handle: rootCeremony.start,
    }),
    endpoint({
      ...attempt,
      method: 'DELETE',
      summary: 'Cancel the attempt',
      answers: 'nothing',
      handle: rootCeremony.cancel,
    }),
    endpoint({
      ...ceremony,
      method: 'POST',
      path: '/sys/generate-root/update',
      summary: 'Give one recovery share; the last one needed makes the token',
      fields: shareFields,
      uses: ['ceremony', 'mint'],
      answers: 'data',
      handle: rootCeremony.give,
    }),
  ],
}
