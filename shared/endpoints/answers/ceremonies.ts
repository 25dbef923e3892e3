import { type Answers, always, bool, int, named, object, orNull, saying, text, texts, told } from './shape.ts'

const attempt = named(
  'Attempt',
  object({
    nonce: text,
    started: bool,
    progress: int,
    required: int,
    complete: bool,
    encoded_token: text,
    encoded_root_token: text,
    pgp_fingerprint: text,
    otp: saying(text, 'in the answer that made it, and nowhere else'),
    otp_length: int,
  }),
)

const rekey = named(
  'RekeyAttempt',
  object(
    {
      nonce: text,
      started: bool,
      t: int,
      n: int,
      progress: int,
      required: int,
      seal_threshold: int,
      pgp_fingerprints: orNull(texts),
      backup: always(false),
      verification_required: bool,
    },
    { verification_nonce: text },
  ),
)

const newKey = named(
  'NewRecoveryKey',
  object(
    {
      nonce: text,
      complete: always(true),
      keys: texts,
      keys_base64: texts,
      pgp_fingerprints: orNull(texts),
      backup: always(false),
      verification_required: bool,
    },
    { verification_nonce: text },
  ),
)

const verification = named(
  'RekeyVerification',
  object({ nonce: text, started: bool, t: int, n: int, progress: int }),
)
const verified = named('VerifiedRecoveryKey', object({ nonce: text, complete: always(true) }))

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
  'POST /sys/decode-token': told('decodeToken', object({ token: text }), {
    sent: { encoded_token: 'Gj4xOiUQ', otp: 'rH5oa2tW' },
  }),
  ...attemptAt('/sys/generate-root', 'RootToken'),
  ...attemptAt('/sys/generate-root-token', 'RootTokenWithToken'),
  ...rekeyAt('/sys/rekey-recovery-key', 'Rekey'),
  ...rekeyAt('/sys/rotate/recovery', 'RekeyWithToken'),
}
