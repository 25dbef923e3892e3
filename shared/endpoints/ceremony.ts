import {
  allowAnyone,
  allowAnyoneButIdentify,
  allowAnyoneUnlessStrict,
  allowOperationToken,
  type EndpointGroup,
  endpointRow,
} from '../api/endpoint.ts'
import { requireDrReplication } from '../api/licence.ts'
import { startAttemptFields } from '../ceremony/attempt.ts'
import {
  decodeMaskedToken,
  decodeTokenFields,
  deleteOperationToken,
  operationTokenCeremony,
  operationTokenShareFields,
} from '../ceremony/operation-token.ts'
import { prepareCeremonySlot } from '../ceremony/slot.ts'

const SECONDARY = '/sys/replication/dr/secondary'
const GENERATE = `${SECONDARY}/generate-operation-token`

/** Needs no token, because the recovery shares authorise. A strict deployment requires a token if the row says so. */
const ceremony = {
  access: allowAnyone,
  licence: requireDrReplication,
  uses: ['ceremony', 'workflow'],
  secretAnswers: ['nonce', 'otp', 'encoded_token'],
  mirrored: true,
  largestBody: 65_536,
  prepare: prepareCeremonySlot,
} as const

const attempt = { ...ceremony, path: `${GENERATE}/attempt`, also: GENERATE } as const

/** The endpoints that create and revoke DR operation tokens. */
export const ceremonyGroup: EndpointGroup = {
  name: 'ceremony',
  prefixes: [GENERATE, `${SECONDARY}/operation-token`],
  endpoints: [
    endpointRow.get({
      ...attempt,
      summary: 'State of the generation of a DR operation token',
      // command-line clients ask any cluster for the token length before they decode a token
      serves: 'dr',
      anyNamespace: true,
      handle: operationTokenCeremony.show,
    }),
    endpointRow.post({
      ...attempt,
      summary: 'Start generating a DR operation token from recovery shares',
      fields: startAttemptFields,
      access: allowAnyoneUnlessStrict('update'),
      serves: 'secondary',
      answers: 'data',
      handle: operationTokenCeremony.start,
    }),
    endpointRow.delete({
      ...attempt,
      summary: 'Cancel the attempt',
      access: allowAnyoneUnlessStrict('delete'),
      serves: 'dr',
      handle: operationTokenCeremony.cancel,
    }),
    endpointRow.post({
      ...ceremony,
      path: `${GENERATE}/update`,
      summary: 'Submit one recovery share; the last required share creates the token',
      access: allowAnyoneButIdentify('update'),
      fields: operationTokenShareFields,
      serves: 'secondary',
      answers: 'data',
      handle: operationTokenCeremony.give,
    }),
    endpointRow.post({
      path: `${SECONDARY}/operation-token/delete`,
      summary: 'Revoke the generated DR operation token',
      access: allowOperationToken,
      serves: 'secondary',
      licence: requireDrReplication,
      handle: deleteOperationToken,
    }),
    endpointRow.post({
      path: '/sys/decode-token',
      summary: 'Decode a masked token with its one-time password',
      fields: decodeTokenFields,
      access: allowAnyone,
      serves: 'dr',
      answers: 'data',
      secretAnswers: ['token'],
      handle: decodeMaskedToken,
    }),
  ],
}
