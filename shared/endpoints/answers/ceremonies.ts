import {
  constShape,
  flagShape,
  intShape,
  nullableShape,
  objectShape,
  textArrayShape,
  textShape,
  withDescription,
  withTitle,
} from '../../values/shape.ts'
import { type AnswerDescriptions, describeAnswer } from './describe.ts'

const attempt = withTitle(
  'Attempt',
  objectShape({
    nonce: textShape,
    started: flagShape,
    progress: intShape,
    required: intShape,
    complete: flagShape,
    encoded_token: textShape,
    encoded_root_token: textShape,
    pgp_fingerprint: textShape,
    otp: withDescription(textShape, 'returned only by the request that starts the attempt'),
    otp_length: intShape,
  }),
)

const rekey = withTitle(
  'RekeyAttempt',
  objectShape(
    {
      nonce: textShape,
      started: flagShape,
      t: intShape,
      n: intShape,
      progress: intShape,
      required: intShape,
      seal_threshold: intShape,
      pgp_fingerprints: nullableShape(textArrayShape),
      backup: constShape(false),
      verification_required: flagShape,
    },
    { verification_nonce: textShape },
  ),
)

const newKey = withTitle(
  'NewRecoveryKey',
  objectShape(
    {
      nonce: textShape,
      complete: constShape(true),
      keys: textArrayShape,
      keys_base64: textArrayShape,
      pgp_fingerprints: nullableShape(textArrayShape),
      backup: constShape(false),
      verification_required: flagShape,
    },
    { verification_nonce: textShape },
  ),
)

const verification = withTitle(
  'RekeyVerification',
  objectShape({ nonce: textShape, started: flagShape, t: intShape, n: intShape, progress: intShape }),
)
const verified = withTitle(
  'VerifiedRecoveryKey',
  objectShape({ nonce: textShape, complete: constShape(true) }),
)

const NONCE = '2dbd10f1-8528-6246-09e7-82b25b8aba63'
const aShare = { requestExample: { key: '0f33a2…', nonce: NONCE } }

const attemptAt = (path: string, name: string): AnswerDescriptions => ({
  [`GET ${path}/attempt`]: describeAnswer(`read${name}Attempt`, attempt),
  [`POST ${path}/attempt`]: describeAnswer(`start${name}Attempt`, attempt, { requestExample: {} }),
  [`DELETE ${path}/attempt`]: describeAnswer(`cancel${name}Attempt`),
  [`POST ${path}/update`]: describeAnswer(`give${name}Share`, attempt, aShare),
})

const rekeyAt = (path: string, name: string): AnswerDescriptions => ({
  [`GET ${path}/init`]: describeAnswer(`read${name}`, rekey),
  [`POST ${path}/init`]: describeAnswer(`start${name}`, rekey, {
    requestExample: { secret_shares: 5, secret_threshold: 3 },
  }),
  [`DELETE ${path}/init`]: describeAnswer(`cancel${name}`),
  [`POST ${path}/update`]: describeAnswer(`giveOldShareTo${name}`, { anyOf: [rekey, newKey] }, aShare),
  [`GET ${path}/verify`]: describeAnswer(`readVerificationOf${name}`, verification),
  [`POST ${path}/verify`]: describeAnswer(
    `giveNewShareTo${name}`,
    { anyOf: [verification, verified] },
    aShare,
  ),
  [`DELETE ${path}/verify`]: describeAnswer(`restartVerificationOf${name}`, verification),
})

const SECONDARY = '/sys/replication/dr/secondary'

/** Responses of the ceremonies with recovery shares. */
export const ceremonyAnswers: AnswerDescriptions = {
  ...attemptAt(`${SECONDARY}/generate-operation-token`, 'OperationToken'),
  [`POST ${SECONDARY}/operation-token/delete`]: describeAnswer('deleteOperationToken', undefined, {
    requestExample: { dr_operation_token: 'hvs.CAESIJ' },
  }),
  'POST /sys/decode-token': describeAnswer('decodeToken', objectShape({ token: textShape }), {
    requestExample: { encoded_token: 'Gj4xOiUQ', otp: 'rH5oa2tW' },
  }),
  ...attemptAt('/sys/generate-root', 'RootToken'),
  ...attemptAt('/sys/generate-root-token', 'RootTokenWithToken'),
  ...rekeyAt('/sys/rekey-recovery-key', 'Rekey'),
  ...rekeyAt('/sys/rotate/recovery', 'RekeyWithToken'),
}
