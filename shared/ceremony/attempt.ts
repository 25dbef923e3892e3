import { answer, answerAfterChanges, type Call, type CallOutcome, dataAnswer } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import { type SuppliedParameters, textField } from '../api/fields.ts'
import { decodePgpPublicKey, encryptForPgpKey, pgpFingerprintOf } from '../cluster/pgp.ts'
import { checkRecoveryShares } from '../cluster/recovery.ts'
import { parseShare } from '../cluster/shares.ts'
import type {
  AttemptSecrets,
  CeremonyAttempt,
  CeremonyAttemptEvent,
  CeremonyPgpKey,
  CeremonyPurpose,
  CeremonySlot,
} from '../model/ceremony.ts'
import { TOKEN_TEXT_LENGTH } from '../model/token.ts'
import type { Ports } from '../ports.ts'
import type { Change } from '../storage/changes.ts'
import { defined } from '../values/defined.ts'
import {
  attemptCounterName,
  attemptStartsOf,
  countAttemptStart,
  decideAttemptCancel,
  decideAttemptStart,
  decideShare,
} from './decide.ts'
import { generateOtp, maskToken } from './encode.ts'
import { otpLengthError } from './refusals.ts'
import {
  decryptAttemptSecrets,
  encryptAttemptSecrets,
  isCeremonyAuthorised,
  readCeremonySlot,
  type StoredCeremony,
  storeCeremonySlot,
} from './slot.ts'

export const startAttemptFields = {
  otp: textField(
    `One-time password of ${TOKEN_TEXT_LENGTH} bytes that masks the token; default: a generated one`,
    {
      secret: true,
    },
  ),
  // the key is public but long, so audit entries contain its HMAC, and the fingerprint of an accepted key
  pgp_key: textField('OpenPGP public key that encrypts the token instead', { secret: true }),
}

export const submitShareFields = {
  key: textField('One recovery share, hex or base64', { secret: true, required: true }),
  nonce: textField('The nonce of the attempt', { secret: true }),
}

/** A ceremony: its purpose, and the token that enough recovery shares create. */
export interface CeremonyDefinition {
  purpose: CeremonyPurpose
  /** Creates the token, and the changes that store the token. */
  make(call: Pick<Call, 'ports' | 'now' | 'cluster'>): {
    text: string
    changes: readonly Change[]
  }
  /** Notifies a workflow of an attempt's progress. The attempt does not depend on the notification. */
  notify?(nonce: string, what: CeremonyAttemptEvent | 'begun', ports: Ports): Promise<void>
}

/** Notifies the workflow after the commit, if the ceremony has one. */
const telling = (
  { notify }: CeremonyDefinition,
  { ports }: Pick<Call, 'ports'>,
  nonce: string,
  what: CeremonyAttemptEvent | 'begun',
): Pick<CallOutcome, 'afterwards'> => (notify ? { afterwards: () => notify(nonce, what, ports) } : {})

/**
 * Builds the handlers of a ceremony. All ceremonies share one slot. The responses of all ceremonies are those that
 * Vault's command line reads.
 */
export const createCeremonyHandlers = (making: CeremonyDefinition) => ({
  show: (call: Call): CallOutcome => showAttempt(making, call),
  start: (call: Call<typeof startAttemptFields>) => startAttempt(making, call),
  give: (call: Call<typeof submitShareFields>) => giveShare(making, call),
  cancel: (call: Call): CallOutcome => cancelAttempt(making, call),
})

interface Shown {
  attempt: CeremonyAttempt | undefined
  required: number
  progress?: number
  otp?: string
  encoded?: string
}

/** Returns the response form of an attempt. Only the response that created a one-time password contains it. */
const shown = (
  { purpose }: CeremonyDefinition,
  { attempt, required, progress, otp = '', encoded = '' }: Shown,
) => ({
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
 * Returns the slot's attempt if it belongs to this ceremony. A ceremony neither shows nor cancels the attempt of
 * another ceremony, because that may be restricted to fewer callers.
 */
const ownIn = ({ attempt }: CeremonySlot, { purpose }: CeremonyDefinition): CeremonyAttempt | undefined =>
  attempt?.purpose === purpose ? attempt : undefined

function showAttempt(making: CeremonyDefinition, call: Call): CallOutcome {
  const { slot, required } = readCeremonySlot(call)
  return answer(dataAnswer(shown(making, { attempt: ownIn(slot, making), required })))
}

/** Starts an attempt. The handler checks the slot and the rate limit before it parses the OpenPGP key, because parsing is expensive. */
async function startAttempt(
  making: CeremonyDefinition,
  call: Call<typeof startAttemptFields>,
): Promise<CallOutcome> {
  const { entropy, cipher } = call.ports
  const gathered = readCeremonySlot(call)
  const held = isCeremonyAuthorised(call)
  const facts = { slot: gathered.slot, now: call.now }
  const verdict = decideAttemptStart(facts, held)
  if (!verdict.ok) throw verdict.fault
  const tries = countAttemptStart(facts, attemptCounterName(held))
  const key = call.parameters.otp ? '' : (call.parameters.pgp_key ?? '')
  if (key !== '') decodePgpPublicKey(key, 'pgp_key')
  const protection = await protectionOf(call.parameters, entropy.bytes).catch((error: unknown) => {
    if (key !== '' && error instanceof ApiError) return error
    throw error
  })
  // parsing a key counts as an attempt, whether the key is usable or not
  if (protection instanceof ApiError)
    return {
      ...answerAfterChanges([storeCeremonySlot(gathered, tries, call.now)]),
      fault: protection,
    }
  const { otp, made, pgp, warnings } = protection
  const secrets: AttemptSecrets = { nonce: entropy.uuid(), otp, shares: [] }
  const begun = defined({
    purpose: making.purpose,
    pgp,
    authorised: held || undefined,
    recoveryKey: gathered.recovery.data.verifier,
  })
  const attempt = await encryptAttemptSecrets(begun, secrets, cipher)
  const change = storeCeremonySlot(gathered, { ...tries, attempt }, call.now)
  const { required } = gathered
  const body = shown(making, defined({ attempt, required, otp: made ? otp : undefined }))
  return {
    ...answerAfterChanges([change], dataAnswer(body, warnings)),
    ...telling(making, call, attempt.nonce, 'begun'),
  }
}

interface Protection {
  otp: string
  /** true if this service created the one-time password, so that the response must contain it */
  made: boolean
  pgp?: CeremonyPgpKey
  warnings: string[]
}

async function protectionOf(
  { otp = '', pgp_key = '' }: SuppliedParameters<typeof startAttemptFields>,
  random: (length: number) => Buffer,
): Promise<Protection> {
  if (otp !== '') {
    if (Buffer.byteLength(otp) !== TOKEN_TEXT_LENGTH) throw otpLengthError()
    const warnings = pgp_key === '' ? [] : ['pgp_key was ignored, because the request has an otp']
    return { otp, made: false, warnings }
  }
  if (pgp_key === '') return { otp: generateOtp(random, TOKEN_TEXT_LENGTH), made: true, warnings: [] }
  const pgp = { key: pgp_key, fingerprint: await pgpFingerprintOf(pgp_key, 'pgp_key') }
  return { otp: '', made: false, pgp, warnings: [] }
}

/** Accepts one share. The last required share creates the token. */
async function giveShare(
  making: CeremonyDefinition,
  call: Call<typeof submitShareFields>,
): Promise<CallOutcome> {
  const { cipher } = call.ports
  const share = parseShare(call.parameters.key ?? '')
  const gathered = readCeremonySlot(call)
  const { slot, required } = gathered
  const recovery = gathered.recovery.data
  const facts = { slot, secrets: await decryptAttemptSecrets(slot, cipher), recovery }
  const verdict = decideShare({ purpose: making.purpose, nonce: call.parameters.nonce ?? '', share }, facts)
  if (!verdict.ok) throw verdict.fault
  const { attempt, secrets, enough } = verdict.value
  if (!enough) {
    const next = await encryptAttemptSecrets(attempt, secrets, cipher)
    const change = storeCeremonySlot(gathered, { ...slot, attempt: next }, call.now)
    const { nonce, progress } = next
    const outcome = answerAfterChanges([change], dataAnswer(shown(making, { attempt: next, required })))
    return { ...outcome, ...telling(making, call, nonce, { outcome: 'share', progress, required }) }
  }
  checkRecoveryShares(secrets.shares, recovery)
  return complete(making, call, gathered, secrets)
}

/** Creates the token and empties the slot in one commit. */
async function complete(
  making: CeremonyDefinition,
  call: Call<typeof submitShareFields>,
  gathered: StoredCeremony,
  { otp, nonce }: AttemptSecrets,
): Promise<CallOutcome> {
  const { required, slot } = gathered
  const token = making.make(call)
  const { attempt } = slot
  const encoded = attempt?.pgp
    ? (await encryptForPgpKey(attempt.pgp.key, token.text, 'pgp_key')).toString('base64')
    : maskToken(token.text, otp)
  const last = { nonce, outcome: 'completed' } as const
  const body = shown(making, { attempt, required, progress: required, encoded })
  return {
    ...answerAfterChanges(
      [...token.changes, storeCeremonySlot(gathered, { ...attemptStartsOf(slot), last }, call.now)],
      dataAnswer(body),
    ),
    ...telling(making, call, nonce, { outcome: 'completed' }),
  }
}

/** Cancels the ceremony's attempt. Without an attempt it succeeds and writes nothing. */
function cancelAttempt(making: CeremonyDefinition, call: Call): CallOutcome {
  const gathered = readCeremonySlot(call)
  const attempt = ownIn(gathered.slot, making)
  if (!attempt) return answerAfterChanges([])
  const verdict = decideAttemptCancel(attempt, isCeremonyAuthorised(call))
  if (!verdict.ok) throw verdict.fault
  const { nonce } = attempt
  const last = { nonce, outcome: 'cancelled' } as const
  return {
    ...answerAfterChanges([
      storeCeremonySlot(gathered, { ...attemptStartsOf(gathered.slot), last }, call.now),
    ]),
    ...telling(making, call, nonce, { outcome: 'cancelled' }),
  }
}
