import { aFlag, always, anInt, aText, object, orNull, saying, texts, titled } from '../../values/shape.ts'
import { type Answers, told } from './told.ts'

const attempt = titled(
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
    otp: saying(aText, 'in the answer that made it, and nowhere else'),
    otp_length: anInt,
  }),
)

const rekey = titled(
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
      backup: always(false),
      verification_required: aFlag,
    },
    { verification_nonce: aText },
  ),
)

const newKey = titled(
  'NewRecoveryKey',
  object(
    {
      nonce: aText,
      complete: always(true),
      keys: texts,
      keys_base64: texts,
      pgp_fingerprints: orNull(texts),
      backup: always(false),
      verification_required: aFlag,
    },
    { verification_nonce: aText },
  ),
)

const verification = titled(
  'RekeyVerification',
  object({ nonce: aText, started: aFlag, t: anInt, n: anInt, progress: anInt }),
)
const verified = titled('VerifiedRecoveryKey', object({ nonce: aText, complete: always(true) }))

const NONCE = '2dbd10f1-8528-6246-09e7-82b25b8aba63'
const aShare = { sent: { key: '0f33a2…', nonce: NONCE } }

const attemptAt = (path: string, name: string): Answers => ({
  [`GET ${path}/attempt`]: told(`read${name}Attempt`, attempt),
  [`POST ${path}/attempt`]: told(`start${name}Attempt`, attempt, { sent: {} }),
  [`DELETE ${path}/attempt`]: told(`cancel${name}Attempt`),
  [`POST ${path}/update`]: told(`give${name}Share`, attempt, aShare),
})

const rekeyAt = (path: string, name: string): Answers => ({
  [`GET ${path}/init`]: told(`read${name}`, rekey),
  [`POST ${path}/init`]: told(`start${name}`, rekey, { sent: { secret_shares: 5, secret_threshold: 3 } }),
  [`DELETE ${path}/init`]: told(`cancel${name}`),
  [`POST ${path}/update`]: told(`giveOldShareTo${name}`, { anyOf: [rekey, newKey] }, aShare),
  [`GET ${path}/verify`]: told(`readVerificationOf${name}`, verification),
  [`POST ${path}/verify`]: told(`giveNewShareTo${name}`, { anyOf: [verification, verified] }, aShare),
  [`DELETE ${path}/verify`]: told(`restartVerificationOf${name}`, verification),
})

const SECONDARY = '/sys/replication/dr/secondary'

/** What holders of recovery shares do together. */
export const ceremonyAnswers: Answers = {
  ...attemptAt(`${SECONDARY}/generate-operation-token`, 'OperationToken'),
  [`POST ${SECONDARY}/operation-token/delete`]: told('deleteOperationToken', undefined, {
    sent: { dr_operation_token: 'hvs.CAESIJ' },
  }),
  'POST /sys/decode-token': told('decodeToken', object({ token: aText }), {
    sent: { encoded_token: 'Gj4xOiUQ', otp: 'rH5oa2tW' },
  }),
  ...attemptAt('/sys/generate-root', 'RootToken'),
  ...attemptAt('/sys/generate-root-token', 'RootTokenWithToken'),
  ...rekeyAt('/sys/rekey-recovery-key', 'Rekey'),
  ...rekeyAt('/sys/rotate/recovery', 'RekeyWithToken'),
}
