import {
  type AccessRule,
  allowAnyone,
  allowAnyoneUnlessStrict,
  allowByPolicy,
  type Endpoint,
  type EndpointGroup,
  endpointRow,
} from '../api/endpoint.ts'
import { startAttemptFields, submitShareFields } from '../ceremony/attempt.ts'
import { generateRootCeremony } from '../ceremony/generate-root.ts'
import { prepareCeremonySlot } from '../ceremony/slot.ts'
import { defined } from '../values/defined.ts'

/** Needs no token, because the recovery shares authorise. */
const ceremony = {
  uses: ['ceremony'],
  unrouted: true,
  secretAnswers: ['nonce', 'otp', 'encoded_token', 'encoded_root_token'],
  mirrored: true,
  largestBody: 65_536,
  prepare: prepareCeremonySlot,
} as const

/** Builds the endpoints of the ceremony at a path. */
const ceremonyAt = (path: string, also: string | undefined, access: Record<Verb, AccessRule>): Endpoint[] => {
  const attempt = defined({ ...ceremony, path: `${path}/attempt`, also })
  return [
    endpointRow.get({
      ...attempt,
      summary: 'State of the generation of a root token',
      access: access.read,
      handle: generateRootCeremony.show,
    }),
    endpointRow.post({
      ...attempt,
      summary: 'Start generating a root token from recovery shares',
      fields: startAttemptFields,
      access: access.start,
      answers: 'data',
      handle: generateRootCeremony.start,
    }),
    endpointRow.delete({
      ...attempt,
      summary: 'Cancel the attempt',
      access: access.delete,
      handle: generateRootCeremony.cancel,
    }),
    endpointRow.post({
      ...ceremony,
      path: `${path}/update`,
      summary: 'Submit one recovery share; the last required share creates the token',
      fields: submitShareFields,
      access: access.update,
      uses: ['ceremony', 'mint'],
      answers: 'data',
      handle: generateRootCeremony.give,
    }),
  ]
}

type Verb = 'read' | 'start' | 'delete' | 'update'
const open = {
  read: allowAnyone,
  start: allowAnyoneUnlessStrict('update'),
  delete: allowAnyoneUnlessStrict('delete'),
  update: allowAnyone,
}
const held = {
  read: allowByPolicy('read', { sudo: true }),
  start: allowByPolicy('update', { sudo: true }),
  update: allowByPolicy('update', { sudo: true }),
  delete: allowByPolicy('delete', { sudo: true }),
}

/** Not routed on AWS: each holder of a recovery share invokes the Lambda directly. */
export const generateRootGroup: EndpointGroup = {
  name: 'generate-root',
  endpoints: [
    ...ceremonyAt('/sys/generate-root', '/sys/generate-root', open),
    // newer versions of Vault's command line use this path, with a token
    ...ceremonyAt('/sys/generate-root-token', undefined, held),
  ],
}
