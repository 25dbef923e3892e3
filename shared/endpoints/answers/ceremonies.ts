import {
  aFlag,
  anInt,
  aText,
  constOf,
  object,
  orNull,
  texts,
  withDescription,
  withTitle,
} from '../../values/shape.ts'
import { type Answers, describeAnswer } from './describe.ts'

const attempt = withTitle(
  'Attempt',
  object({
    nonce: aText,
    started: aFlag,
    progress: anInt,
    required: anInt,
    complete: aFlag,
    encoded_token: aText,
    encoded_root_token: aText,
    pgp_fingerprint: aText,
    otp: withDescription(aText, 'in the answer that made it, and nowhere else'),
    otp_length: anInt,
  }),
)

const rekey = withTitle(
  'RekeyAttempt',
  object(
    {
      nonce: aText,
      started: aFlag,
      t: anInt,
      n: anInt,
      progress: anInt,
      required: anInt,
      seal_threshold: anInt,
      pgp_fingerprints: orNull(texts),
      backup: constOf(false),
      verification_required: aFlag,
    },
    { verification_nonce: aText },
  ),
)

const newKey = withTitle(
  'NewRecoveryKey',
  object(
    {
      nonce: aText,
      complete: constOf(true),
      keys: texts,
      keys_base64: texts,
      pgp_fingerprints: orNull(texts),
      backup: constOf(false),
      verification_required: aFlag,
    },
    { verification_nonce: aText },
  ),
)

const verification = withTitle(
  'RekeyVerification',
  object({ nonce: aText, started: aFlag, t: anInt, n: anInt, progress: anInt }),
)
const verified = withTitle('VerifiedRecoveryKey', object({ nonce: aText, complete: constOf(true) }))

const NONCE = '2dbd10f1-8528-6246-09e7-82b25b8aba63'
const aShare = { requestExample: { key: '0f33a2…', nonce: NONCE } }

const attemptAt = (path: string, name: string): Answers => ({
  [`GET ${path}/attempt`]: describeAnswer(`read${name}Attempt`, attempt),
  [`POST ${path}/attempt`]: describeAnswer(`start${name}Attempt`, attempt, { requestExample: {} }),
  [`DELETE ${path}/attempt`]: describeAnswer(`cancel${name}Attempt`),
  [`POST ${path}/update`]: describeAnswer(`give${name}Share`, attempt, aShare),
})

const rekeyAt = (path: string, name: string): Answers => ({
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
export const ceremonyAnswers: Answers = {
  ...attemptAt(`${SECONDARY}/generate-operation-token`, 'OperationToken'),
  [`POST ${SECONDARY}/operation-token/delete`]: describeAnswer('deleteOperationToken', undefined, {
    requestExample: { dr_operation_token: 'hvs.CAESIJ' },
  }),
  'POST /sys/decode-token': describeAnswer('decodeToken', object({ token: aText }), {
    requestExample: { encoded_token: 'Gj4xOiUQ', otp: 'rH5oa2tW' },
  }),
  ...attemptAt('/sys/generate-root', 'RootToken'),
  ...attemptAt('/sys/generate-root-token', 'RootTokenWithToken'),
  ...rekeyAt('/sys/rekey-recovery-key', 'Rekey'),
  ...rekeyAt('/sys/rotate/recovery', 'RekeyWithToken'),
}
