import {
  type AccessRule,
  allowAnyone,
  allowAnyoneButIdentify,
  allowAnyoneUnlessStrict,
  allowByPolicy,
  declareEndpoint,
  type Endpoint,
  type EndpointGroup,
  endpointRow,
} from '../api/endpoint.ts'
import {
  cancelRekey,
  rekeyShareFields,
  restartRekeyVerification,
  showRekeyProgress,
  showRekeyVerification,
  startRekey,
  startRekeyFields,
  submitRekeyShare,
  submitVerificationShare,
} from '../ceremony/rekey.ts'
import { backupUnsupportedError, noUnsealKeysError } from '../ceremony/rekey-refusals.ts'
import { prepareRekey } from '../ceremony/rekey-slot.ts'

const rekeying = {
  uses: ['rekey'],
  answers: 'data',
  secretAnswers: ['nonce', 'verification_nonce', 'keys', 'keys_base64'],
  mirrored: true,
  prepare: prepareRekey,
} as const

/** Maximum bytes of a body with OpenPGP keys for the maximum number of shares. */
const LARGEST_BODY = 262_144
/** Maximum bytes of a rekey body for callers without a token. */
const LARGEST_ANONYMOUS_BODY = 65_536

type Act = 'look' | 'start' | 'cancel' | 'give'

/** Builds the rekey endpoints at a path. */
const rekeyAt = (path: string, access: Record<Act, AccessRule>, largestBody: number): Endpoint[] => {
  const shared = { ...rekeying, largestBody }
  const [init, verify] = [
    { ...shared, path: `${path}/init` },
    { ...shared, path: `${path}/verify` },
  ]
  return [
    endpointRow.get({
      ...init,
      summary: 'State of the replacement of the recovery key',
      access: access.look,
      handle: showRekeyProgress,
    }),
    endpointRow.post({
      ...init,
      summary: 'Start replacing the recovery key, with shares of the current recovery key',
      fields: startRekeyFields,
      access: access.start,
      handle: startRekey,
    }),
    endpointRow.delete({
      ...init,
      summary: 'Cancel the attempt and keep the current recovery key',
      access: access.cancel,
      answers: 'nothing',
      handle: cancelRekey,
    }),
    endpointRow.post({
      ...shared,
      path: `${path}/update`,
      summary: 'Submit one share of the current recovery key; the last required share creates the new key',
      fields: rekeyShareFields,
      access: access.give,
      uses: ['rekey', 'recovery'],
      handle: submitRekeyShare,
    }),
    endpointRow.get({
      ...verify,
      summary: 'State of the verification of the new recovery key',
      access: access.look,
      handle: showRekeyVerification,
    }),
    endpointRow.post({
      ...verify,
      summary: 'Submit one share of the new recovery key; the last required share activates the new key',
      fields: rekeyShareFields,
      access: access.give,
      uses: ['rekey', 'recovery'],
      handle: submitVerificationShare,
    }),
    endpointRow.delete({
      ...verify,
      summary: 'Restart the verification: discards the submitted shares and changes the nonce',
      access: access.cancel,
      handle: restartRekeyVerification,
    }),
  ]
}

/** Needs no token, because the recovery shares authorise, except in a strict deployment. */
const open = {
  look: allowAnyone,
  start: allowAnyoneUnlessStrict('update'),
  cancel: allowAnyoneUnlessStrict('delete'),
  give: allowAnyoneButIdentify('update'),
}

const held = {
  look: allowByPolicy('read', { sudo: true }),
  start: allowByPolicy('update', { sudo: true }),
  cancel: allowByPolicy('delete', { sudo: true }),
  give: allowByPolicy('update', { sudo: true }),
}

/** Paths that Vault's command line uses for unseal shares and stored shares, which this service does not have. */
const refusedPaths = [
  { paths: ['/sys/rekey/init', '/sys/rekey/verify'], methods: ['GET', 'POST', 'DELETE'] },
  { paths: ['/sys/rotate/root/init', '/sys/rotate/root/verify'], methods: ['GET', 'POST', 'DELETE'] },
  { paths: ['/sys/rekey/update', '/sys/rotate/root/update', '/sys/rotate/root'], methods: ['POST'] },
  {
    paths: [
      '/sys/rekey/backup',
      '/sys/rekey/recovery-key-backup',
      '/sys/rekey-recovery-key/backup',
      '/sys/rotate/root/backup',
      '/sys/rotate/recovery/backup',
    ],
    methods: ['GET', 'DELETE'],
  },
] as const

const refusals = refusedPaths.flatMap(({ paths, methods }) =>
  paths.flatMap(path => methods.map(method => refusing(method, path))),
)

function refusing(method: Endpoint['method'], path: string): Endpoint {
  const refuse = path.endsWith('backup') ? backupUnsupportedError : noUnsealKeysError
  return declareEndpoint({
    method,
    path,
    access: allowAnyone,
    answers: 'refused',
    summary: path.endsWith('backup')
      ? 'Refused: no shares are kept'
      : 'Refused: KMS keeps the keys, and only the recovery key has shares',
    handle: () => {
      throw refuse()
    },
  })
}

/** The endpoints that create a new recovery key with new shares. */
export const rekeyGroup: EndpointGroup = {
  name: 'rekey',
  prefixes: ['/sys/rekey', '/sys/rekey-recovery-key', '/sys/rotate/recovery', '/sys/rotate/root'],
  endpoints: [
    ...rekeyAt('/sys/rekey-recovery-key', open, LARGEST_ANONYMOUS_BODY),
    // newer versions of Vault's command line use this path, with a token
    ...rekeyAt('/sys/rotate/recovery', held, LARGEST_BODY),
    ...refusals,
  ],
}
