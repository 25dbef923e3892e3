import {
  type AccessRule,
  anyone,
  anyoneUnlessStrict,
  byPolicy,
  type Endpoint,
  type Group,
  row,
} from '../api/endpoint.ts'
import { shareFields, startFields } from '../ceremony/attempt.ts'
import { rootCeremony } from '../ceremony/generate-root.ts'
import { prepareSlot } from '../ceremony/slot.ts'
import { defined } from '../values/defined.ts'

/** Needs no token, because the recovery shares authorise. */
const ceremony = {
  uses: ['ceremony'],
  unrouted: true,
  secretAnswers: ['nonce', 'otp', 'encoded_token', 'encoded_root_token'],
  mirrored: true,
  largestBody: 65_536,
  prepare: prepareSlot,
} as const

/** Builds the endpoints of the ceremony at a path. */
const ceremonyAt = (path: string, also: string | undefined, access: Record<Verb, AccessRule>): Endpoint[] => {
  const attempt = defined({ ...ceremony, path: `${path}/attempt`, also })
  return [
    row.get({
      ...attempt,
      summary: 'State of the generation of a root token',
      access: access.read,
      handle: rootCeremony.show,
    }),
    row.post({
      ...attempt,
      summary: 'Start generating a root token from recovery shares',
      fields: startFields,
      access: access.start,
      answers: 'data',
      handle: rootCeremony.start,
    }),
    row.delete({
      ...attempt,
      summary: 'Cancel the attempt',
      access: access.delete,
      handle: rootCeremony.cancel,
    }),
    row.post({
      ...ceremony,
      path: `${path}/update`,
      summary: 'Submit one recovery share; the last required share creates the token',
      fields: shareFields,
      access: access.update,
      uses: ['ceremony', 'mint'],
      answers: 'data',
      handle: rootCeremony.give,
    }),
  ]
}

type Verb = 'read' | 'start' | 'delete' | 'update'
const open = {
  read: anyone,
  start: anyoneUnlessStrict('update'),
  delete: anyoneUnlessStrict('delete'),
  update: anyone,
}
const held = {
  read: byPolicy('read', { sudo: true }),
  start: byPolicy('update', { sudo: true }),
  update: byPolicy('update', { sudo: true }),
  delete: byPolicy('delete', { sudo: true }),
}

/** Not routed on AWS: each holder of a recovery share invokes the Lambda directly. */
export const generateRootGroup: Group = {
  name: 'generate-root',
  endpoints: [
    ...ceremonyAt('/sys/generate-root', '/sys/generate-root', open),
    // newer versions of Vault's command line use this path, with a token
    ...ceremonyAt('/sys/generate-root-token', undefined, held),
  ],
}
