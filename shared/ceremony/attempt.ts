import { answer, answerAfter, type Call, data, type Outcome } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import { type SuppliedParameters, text } from '../api/fields.ts'
import { decodePublicKey, encryptFor, fingerprintOf } from '../cluster/pgp.ts'
import { checkShares } from '../cluster/recovery.ts'
import { readShare } from '../cluster/shares.ts'
import type { Attempt, AttemptEvent, PgpKey, Purpose, Secrets, Slot } from '../model/ceremony.ts'
import { TOKEN_TEXT_LENGTH } from '../model/token.ts'
import type { Ports } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import { defined } from '../values/defined.ts'
import { countTry, decideCancel, decideShare, decideStart, startCounter, triesOf } from './decide.ts'
import { maskToken, newOtp } from './encode.ts'
import { otpLengthError } from './refusals.ts'
import { decryptSecrets, encryptAttempt, type Gathered, gatherSlot, isAuthorised, storeSlot } from './slot.ts'

export const startFields = {
  otp: text(
    `One-time password of ${TOKEN_TEXT_LENGTH} bytes that masks the token; default: a generated one`,
    {
      secret: true,
    },
  ),
  // the key is public but long, so audit entries contain its HMAC, and the fingerprint of an accepted key
  pgp_key: text('OpenPGP public key that encrypts the token instead', { secret: true }),
}

export const shareFields = {
  key: text('One recovery share, hex or base64', { secret: true, required: true }),
  nonce: text('The nonce of the attempt', { secret: true }),
}

/** A ceremony: its purpose, and the token that enough recovery shares create. */
export interface Ceremony {
  purpose: Purpose
  /** Creates the token, and the changes that store the token. */
  make(call: Pick<Call, 'ports' | 'now' | 'cluster'>): {
    text: string
    changes: readonly Change[]
  }
  /** Notifies a workflow of an attempt's progress. The attempt does not depend on the notification. */
  notify?(nonce: string, what: AttemptEvent | 'begun', ports: Ports): Promise<void>
}

/** Notifies the workflow after the commit, if the ceremony has one. */
const telling = (
  { notify }: Ceremony,
  { ports }: Pick<Call, 'ports'>,
  nonce: string,
  what: AttemptEvent | 'begun',
): Pick<Outcome, 'afterwards'> => (notify ? { afterwards: () => notify(nonce, what, ports) } : {})

/** Builds the handlers of a ceremony. All ceremonies share one slot. Their responses are those that Vault's command line reads. */
export const createCeremony = (making: Ceremony) => ({
  show: (call: Call): Outcome => showAttempt(making, call),
  start: (call: Call<typeof startFields>) => startAttempt(making, call),
  give: (call: Call<typeof shareFields>) => giveShare(making, call),
  cancel: (call: Call): Outcome => cancelAttempt(making, call),
})

interface Shown {
  attempt: Attempt | undefined
  required: number
  progress?: number
  otp?: string
  encoded?: string
}

/** Returns the response form of an attempt. Only the response that created a one-time password contains it. */
const shown = ({ purpose }: Ceremony, { attempt, required, progress, otp = '', encoded = '' }: Shown) => ({
  nonce: attempt?.nonce ?? '',
  started: attempt !== undefined,
  progress: progress ?? attempt?.progress ?? 0,
  required,
  complete: encoded !== '',
  encoded_token: encoded,
  encoded_root_token: purpose === 'root' ? encoded : '',
  pgp_fingerprint: attempt?.pgp?.fingerprint ?? '',
  otp,
  otp_length: TOKEN_TEXT_LENGTH,
})

/**
 * Returns the slot's attempt if it belongs to this ceremony. A ceremony neither shows nor cancels another one's attempt, because that
 * may be restricted to fewer callers.
 */
const ownIn = ({ attempt }: Slot, { purpose }: Ceremony): Attempt | undefined =>
  attempt?.purpose === purpose ? attempt : undefined

function showAttempt(making: Ceremony, call: Call): Outcome {
  const { slot, required } = gatherSlot(call)
  return answer(data(shown(making, { attempt: ownIn(slot, making), required })))
}

/** Starts an attempt. The handler checks the slot and the rate limit before it parses the OpenPGP key, because parsing is expensive. */
async function startAttempt(making: Ceremony, call: Call<typeof startFields>): Promise<Outcome> {
  const { entropy, cipher } = call.ports
  const gathered = gatherSlot(call)
  const held = isAuthorised(call)
  const facts = { slot: gathered.slot, now: call.now }
  const verdict = decideStart(facts, held)
  if (!verdict.ok) throw verdict.fault
  const tries = countTry(facts, startCounter(held))
  const key = call.parameters.otp ? '' : (call.parameters.pgp_key ?? '')
  if (key !== '') decodePublicKey(key, 'pgp_key')
  const protection = await protectionOf(call.parameters, entropy.bytes).catch((error: unknown) => {
    if (key !== '' && error instanceof ApiError) return error
    throw error
  })
  // parsing a key counts as an attempt, whether the key is usable or not
  if (protection instanceof ApiError)
    return {
      ...answerAfter([storeSlot(gathered, tries, call.now)]),
      fault: protection,
    }
  const { otp, made, pgp, warnings } = protection
  const secrets: Secrets = { nonce: entropy.uuid(), otp, shares: [] }
  const begun = defined({
    purpose: making.purpose,
    pgp,
    authorised: held || undefined,
    recoveryKey: gathered.recovery.data.verifier,
  })
  const attempt = await encryptAttempt(begun, secrets, cipher)
  const change = storeSlot(gathered, { ...tries, attempt }, call.now)
  const { required } = gathered
  const body = shown(making, defined({ attempt, required, otp: made ? otp : undefined }))
  return { ...answerAfter([change], data(body, warnings)), ...telling(making, call, attempt.nonce, 'begun') }
}

interface Protection {
  otp: string
  /** true if this service created the one-time password, so that the response must contain it */
  made: boolean
  pgp?: PgpKey
  warnings: string[]
}

async function protectionOf(
  { otp = '', pgp_key = '' }: SuppliedParameters<typeof startFields>,
  random: (length: number) => Buffer,
): Promise<Protection> {
  if (otp !== '') {
    if (Buffer.byteLength(otp) !== TOKEN_TEXT_LENGTH) throw otpLengthError()
    const warnings = pgp_key === '' ? [] : ['pgp_key was ignored, because the request has an otp']
    return { otp, made: false, warnings }
  }
  if (pgp_key === '') return { otp: newOtp(random, TOKEN_TEXT_LENGTH), made: true, warnings: [] }
  const pgp = { key: pgp_key, fingerprint: await fingerprintOf(pgp_key, 'pgp_key') }
  return { otp: '', made: false, pgp, warnings: [] }
}

/** Accepts one share. The last required share creates the token. */
async function giveShare(making: Ceremony, call: Call<typeof shareFields>): Promise<Outcome> {
  const { cipher } = call.ports
  const share = readShare(call.parameters.key ?? '')
  const gathered = gatherSlot(call)
  const { slot, required } = gathered
  const recovery = gathered.recovery.data
  const facts = { slot, secrets: await decryptSecrets(slot, cipher), recovery }
  const verdict = decideShare({ purpose: making.purpose, nonce: call.parameters.nonce ?? '', share }, facts)
  if (!verdict.ok) throw verdict.fault
  const { attempt, secrets, enough } = verdict.value
  if (!enough) {
    const next = await encryptAttempt(attempt, secrets, cipher)
    const change = storeSlot(gathered, { ...slot, attempt: next }, call.now)
    const { nonce, progress } = next
    const outcome = answerAfter([change], data(shown(making, { attempt: next, required })))
    return { ...outcome, ...telling(making, call, nonce, { outcome: 'share', progress, required }) }
  }
  checkShares(secrets.shares, recovery)
  return complete(making, call, gathered, secrets)
}

/** Creates the token and empties the slot in one commit. */
async function complete(
  making: Ceremony,
  call: Call<typeof shareFields>,
  gathered: Gathered,
  { otp, nonce }: Secrets,
): Promise<Outcome> {
  const { required, slot } = gathered
  const token = making.make(call)
  const { attempt } = slot
  const encoded = attempt?.pgp
    ? (await encryptFor(attempt.pgp.key, token.text, 'pgp_key')).toString('base64')
    : maskToken(token.text, otp)
  const last = { nonce, outcome: 'completed' } as const
  const body = shown(making, { attempt, required, progress: required, encoded })
  return {
    ...answerAfter([...token.changes, storeSlot(gathered, { ...triesOf(slot), last }, call.now)], data(body)),
    ...telling(making, call, nonce, { outcome: 'completed' }),
  }
}

/** Cancels the ceremony's attempt. Without an attempt it succeeds and writes nothing. */
function cancelAttempt(making: Ceremony, call: Call): Outcome {
  const gathered = gatherSlot(call)
  const attempt = ownIn(gathered.slot, making)
  if (!attempt) return answerAfter([])
  const verdict = decideCancel(attempt, isAuthorised(call))
  if (!verdict.ok) throw verdict.fault
  const { nonce } = attempt
  const last = { nonce, outcome: 'cancelled' } as const
  return {
    ...answerAfter([storeSlot(gathered, { ...triesOf(gathered.slot), last }, call.now)]),
    ...telling(making, call, nonce, { outcome: 'cancelled' }),
  }
}
