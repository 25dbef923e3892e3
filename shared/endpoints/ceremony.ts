import {
  anyone,
  anyoneButIdentify,
  anyoneUnlessStrict,
  type Group,
  operationToken,
  row,
} from '../api/endpoint.ts'
import { namesDrReplication } from '../api/licence.ts'
import { startFields } from '../ceremony/attempt.ts'
import {
  decodeFields,
  decodeToken,
  deleteOperationToken,
  operationCeremony,
  operationShareFields,
} from '../ceremony/operation-token.ts'
import { prepareSlot } from '../ceremony/slot.ts'

const SECONDARY = '/sys/replication/dr/secondary'
const GENERATE = `${SECONDARY}/generate-operation-token`

/** Needs no token, because the recovery shares authorise. A strict deployment requires one if the row says so. */
const ceremony = {
  access: anyone,
  licence: namesDrReplication,
  uses: ['ceremony', 'workflow'],
  secretAnswers: ['nonce', 'otp', 'encoded_token'],
  mirrored: true,
  largestBody: 65_536,
  prepare: prepareSlot,
} as const

const attempt = { ...ceremony, path: `${GENERATE}/attempt`, also: GENERATE } as const

/** The endpoints that create and revoke DR operation tokens. */
export const ceremonyGroup: Group = {
  name: 'ceremony',
  prefixes: [GENERATE, `${SECONDARY}/operation-token`],
  endpoints: [
    row.get({
      ...attempt,
      summary: 'State of the generation of a DR operation token',
      // command-line clients ask any cluster for the token length before they decode a token
      serves: 'dr',
      anyNamespace: true,
      handle: operationCeremony.show,
    }),
    row.post({
      ...attempt,
      summary: 'Start generating a DR operation token from recovery shares',
      fields: startFields,
      access: anyoneUnlessStrict('update'),
      serves: 'secondary',
      answers: 'data',
      handle: operationCeremony.start,
    }),
    row.delete({
      ...attempt,
      summary: 'Cancel the attempt',
      access: anyoneUnlessStrict('delete'),
      serves: 'dr',
      handle: operationCeremony.cancel,
    }),
    row.post({
      ...ceremony,
      path: `${GENERATE}/update`,
      summary: 'Submit one recovery share; the last required share creates the token',
      access: anyoneButIdentify('update'),
      fields: operationShareFields,
      serves: 'secondary',
      answers: 'data',
      handle: operationCeremony.give,
    }),
    row.post({
      path: `${SECONDARY}/operation-token/delete`,
      summary: 'Revoke the generated DR operation token',
      access: operationToken,
      serves: 'secondary',
      licence: namesDrReplication,
      handle: deleteOperationToken,
    }),
    row.post({
      path: '/sys/decode-token',
      summary: 'Unmask a token with its one-time password',
      fields: decodeFields,
      access: anyone,
      serves: 'dr',
      answers: 'data',
      secretAnswers: ['token'],
      handle: decodeToken,
    }),
  ],
}
