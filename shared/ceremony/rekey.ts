import { answer, answerAfterChanges, type Call, type CallOutcome, dataAnswer } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import {
  boolField,
  intField,
  listField,
  type SuppliedParameters,
  textField,
  unsupportedField,
} from '../api/fields.ts'
import { decodePgpPublicKey, encryptForEachPgpKey, pgpFingerprintOf } from '../cluster/pgp.ts'
import { checkRecoveryShares, newRecoveryKey } from '../cluster/recovery.ts'
import { checkShareDivision, parseShare, type ShareDivision } from '../cluster/shares.ts'
import type { CeremonyPgpKey } from '../model/ceremony.ts'
import type { RecoveryKey } from '../model/cluster.ts'
import { type Change, replaceItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import {
  attemptCounterName,
  attemptStartsOf,
  countAttemptStart,
  decideAttemptCancel,
  decideAttemptStart,
  decideShare,
} from './decide.ts'
import { noAttemptError } from './refusals.ts'
import { noVerificationError, pgpKeyCountError, verificationRequiredError } from './rekey-refusals.ts'
import {
  decryptRekeySecrets,
  encryptRekeySecrets,
  type RekeyAttempt,
  readRekeySlot,
  type StoredRekey,
  storeRekeySlot,
} from './rekey-slot.ts'
import { isCeremonyAuthorised } from './slot.ts'

export const startRekeyFields = {
  secret_shares: intField('Number of shares of the new recovery key', { required: true }),
  secret_threshold: intField('Shares needed together', { required: true }),
  pgp_keys: listField('OpenPGP public keys, one for each share, by which the new shares are encrypted', {
    // the keys are public but long, so audit entries contain their HMAC, and the fingerprints of accepted keys
    secret: true,
  }),
  require_verification: boolField(
    'Whether the new key counts only when its own shares were given; default false',
  ),
  stored_shares: unsupportedField('No share is stored'),
  // Vault's command line capitalises this name
  backup: unsupportedField('No share is stored, encrypted or not', { formerly: 'Backup' }),
}

export const rekeyShareFields = {
  key: textField('One recovery share, hex or base64', { secret: true, required: true }),
  nonce: textField('The nonce of the attempt', { secret: true, required: true }),
}

const NAMES = { shares: 'secret_shares', threshold: 'secret_threshold' }

/** Returns the response form of an attempt. */
function shown(attempt: RekeyAttempt | undefined, required: number): Record<string, unknown> {
  const { rekey } = attempt ?? {}
  const pending = rekey?.newKey !== undefined
  return {
    nonce: rekey?.id ?? '',
    started: attempt !== undefined,
    t: rekey?.threshold ?? 0,
    n: rekey?.shares ?? 0,
    progress: pending ? required : (attempt?.progress ?? 0),
    required,
    seal_threshold: required,
    pgp_fingerprints: attempt ? fingerprintsOf(attempt) : null,
    backup: false,
    verification_required: rekey?.verify ?? false,
    ...(attempt && pending ? { verification_nonce: attempt.nonce } : {}),
  }
}

const fingerprintsOf = ({ rekey: { pgp } }: RekeyAttempt): string[] | null =>
  pgp.length > 0 ? pgp.map(({ fingerprint }) => fingerprint) : null

/** Handles GET …/init. */
export function showRekeyProgress(call: Call): CallOutcome {
  const { slot, recovery } = readRekeySlot(call)
  return answer(dataAnswer(shown(slot.attempt, recovery.data.threshold)))
}

/** Handles POST …/init: starts an attempt. The handler checks the slot and the rate limit before it parses an OpenPGP key. */
export async function startRekey(call: Call<typeof startRekeyFields>): Promise<CallOutcome> {
  const { parameters, now } = call
  const { entropy, cipher } = call.ports
  const gathered = readRekeySlot(call)
  const { slot, recovery, verifier, clusterRole } = gathered
  const held = isCeremonyAuthorised(call)
  const facts = { slot, now }
  const verdict = decideAttemptStart(facts, held)
  if (!verdict.ok) throw verdict.fault
  const division = divisionOf(parameters)
  const keys = parameters.pgp_keys ?? []
  checkKeys(keys, division)
  const tries = countAttemptStart(facts, attemptCounterName(held))
  const pgp = await readKeys(keys)
  // parsing a key counts as an attempt, whether the key is usable or not
  if (pgp instanceof ApiError)
    return { ...answerAfterChanges([storeRekeySlot(gathered, tries, now)]), fault: pgp }
  const id = entropy.uuid()
  const rekey = { ...division, pgp, verify: parameters.require_verification ?? false, id, clusterRole }
  const next = defined({
    purpose: 'rekey' as const,
    rekey,
    recoveryKey: verifier,
    authorised: held || undefined,
  })
  const attempt = await encryptRekeySecrets(next, { nonce: id, shares: [] }, cipher)
  const change = storeRekeySlot(gathered, { ...tries, attempt }, now)
  return answerAfterChanges([change], dataAnswer(shown({ ...attempt, rekey }, recovery.data.threshold)))
}

function divisionOf({
  secret_shares = 0,
  secret_threshold = 0,
}: SuppliedParameters<typeof startRekeyFields>): ShareDivision {
  const division = { shares: secret_shares, threshold: secret_threshold }
  checkShareDivision(division, NAMES)
  return division
}

const nameOf = (index: number) => `pgp_keys: key ${index + 1}`

/** Checks the number and the sizes of the keys. @throws ApiError `invalid_request` */
function checkKeys(keys: readonly string[], { shares }: ShareDivision): void {
  if (keys.length > 0 && keys.length !== shares) throw pgpKeyCountError()
  for (const [index, one] of keys.entries()) decodePgpPublicKey(one, nameOf(index))
}

/** Parses the keys. @returns the error of the first invalid key */
async function readKeys(keys: readonly string[]): Promise<CeremonyPgpKey[] | ApiError> {
  const read: CeremonyPgpKey[] = []
  try {
    for (const [index, one] of keys.entries())
      read.push({ key: one, fingerprint: await pgpFingerprintOf(one, nameOf(index)) })
    return read
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Handles DELETE …/init: cancels the attempt and keeps the current recovery key. Without an attempt it writes nothing. */
export function cancelRekey(call: Call): CallOutcome {
  const gathered = readRekeySlot(call)
  const { slot } = gathered
  if (!slot.attempt) return answerAfterChanges([])
  checkCancel(slot.attempt, call)
  return answerAfterChanges([storeRekeySlot(gathered, attemptStartsOf(slot), call.now)])
}

/** Checks that the caller may cancel. Anonymous callers may not, once shares were submitted. @throws ApiError `permission_denied` */
function checkCancel(attempt: RekeyAttempt, call: Call): void {
  const { progress, rekey } = attempt
  const verdict = decideAttemptCancel(
    { ...attempt, progress: rekey.newKey ? rekey.threshold : progress },
    isCeremonyAuthorised(call),
  )
  if (!verdict.ok) throw verdict.fault
}

/** Handles POST …/update: accepts one share of the current key. The last required share creates the new key. */
export async function submitRekeyShare(call: Call<typeof rekeyShareFields>): Promise<CallOutcome> {
  const gathered = readRekeySlot(call)
  const { attempt } = gathered.slot
  if (attempt?.rekey.newKey) throw verificationRequiredError(attempt.nonce)
  const present = gathered.recovery.data
  const { change, attempt: advanced } = await giveShare(call, gathered, 'rekey', present)
  return change
    ? answerAfterChanges([change], dataAnswer(shown(advanced, present.threshold)))
    : makeKey(call, gathered, advanced)
}

interface Given {
  attempt: RekeyAttempt
  /** stores the share; absent if it was the last required one */
  change?: Change
}

/** Checks one share and adds it to the attempt. */
async function giveShare(
  { parameters, ports, now }: Call<typeof rekeyShareFields>,
  gathered: StoredRekey,
  purpose: RekeyAttempt['purpose'],
  recovery: RecoveryKey,
): Promise<Given> {
  const { cipher } = ports
  const { slot } = gathered
  const facts = { slot, secrets: await decryptRekeySecrets(slot, cipher), recovery }
  const share = parseShare(parameters.key ?? '')
  const verdict = decideShare({ purpose, nonce: parameters.nonce ?? '', share }, facts)
  const { attempt: before } = slot
  if (!verdict.ok) throw verdict.fault
  if (!before) throw noAttemptError(purpose)
  const { secrets, enough } = verdict.value
  if (enough) {
    checkRecoveryShares(secrets.shares, recovery)
    return { attempt: before }
  }
  const attempt = await encryptRekeySecrets(before, secrets, cipher)
  return {
    attempt: { ...attempt, rekey: before.rekey },
    change: storeRekeySlot(gathered, { ...slot, attempt }, now),
  }
}

/** Creates the new key and returns its shares once. The key takes effect at once, or after verification if that was requested. */
async function makeKey(
  { ports, now }: Call<typeof rekeyShareFields>,
  gathered: StoredRekey,
  attempt: RekeyAttempt,
): Promise<CallOutcome> {
  const { slot, recovery } = gathered
  const { rekey } = attempt
  const pgpFingerprints = fingerprintsOf(attempt)
  const { item: made, shares } = newRecoveryKey(rekey, {
    random: ports.entropy.bytes,
    now,
    ...(pgpFingerprints ? { pgpFingerprints } : {}),
  })
  const keys = await handedOut(shares, rekey.pgp)
  const told = {
    nonce: rekey.id,
    complete: true,
    keys: keys.map(one => one.toString('hex')),
    keys_base64: keys.map(one => one.toString('base64')),
    pgp_fingerprints: pgpFingerprints,
    backup: false,
    verification_required: rekey.verify,
  }
  if (!rekey.verify)
    return answerAfterChanges(
      [inForce(recovery, made), storeRekeySlot(gathered, attemptStartsOf(slot), now)],
      dataAnswer(told),
    )
  const nonce = ports.entropy.uuid()
  const next = { ...attempt, purpose: 'verification', rekey: { ...rekey, newKey: made } } as const
  const pending = await encryptRekeySecrets(next, { nonce, shares: [] }, ports.cipher)
  const change = storeRekeySlot(gathered, { ...slot, attempt: pending }, now)
  return answerAfterChanges([change], dataAnswer({ ...told, verification_nonce: nonce }))
}

/** Encodes the shares. An encrypted share contains its hex text. @see docs/spec/cluster.md#recovery-shares */
const handedOut = async (
  shares: readonly Buffer[],
  pgp: readonly CeremonyPgpKey[],
): Promise<readonly Buffer[]> =>
  pgp.length === 0
    ? shares
    : encryptForEachPgpKey(
        shares.map(share => share.toString('hex')),
        pgp.map(one => one.key),
        'pgp_keys',
      )

/** Replaces the recovery key. The commit fails if the stored key is not the one that verified the shares. */
const inForce = (recovery: StoredRekey['recovery'], made: RecoveryKey) =>
  replaceItem(key('recovery-key'), recovery, made)

/** Returns the response form of a verification. */
const verification = ({ purpose, nonce, progress, rekey }: RekeyAttempt) => {
  const started = purpose === 'verification'
  return {
    nonce: started ? nonce : '',
    started,
    t: rekey.threshold,
    n: rekey.shares,
    progress: started ? progress : 0,
  }
}

/** Handles GET …/verify. */
export function showRekeyVerification(call: Call): CallOutcome {
  const { attempt } = readRekeySlot(call).slot
  if (!attempt) throw noAttemptError('rekey')
  return answer(dataAnswer(verification(attempt)))
}

/** Handles POST …/verify: accepts one share of the new key. The last required share puts the new key into effect. */
export async function submitVerificationShare(call: Call<typeof rekeyShareFields>): Promise<CallOutcome> {
  const gathered = readRekeySlot(call)
  const made = gathered.slot.attempt?.rekey.newKey
  if (!made) throw noVerificationError()
  const { change, attempt } = await giveShare(call, gathered, 'verification', made)
  if (change) return answerAfterChanges([change], dataAnswer(verification(attempt)))
  const emptied = storeRekeySlot(gathered, attemptStartsOf(gathered.slot), call.now)
  const changes = [inForce(gathered.recovery, made), emptied]
  return answerAfterChanges(changes, dataAnswer({ nonce: attempt.nonce, complete: true }))
}

/** Handles DELETE …/verify: discards the submitted shares and changes the nonce. The new key is kept. */
export async function restartRekeyVerification(call: Call): Promise<CallOutcome> {
  const gathered = readRekeySlot(call)
  const { attempt } = gathered.slot
  if (!attempt?.rekey.newKey) throw noVerificationError()
  checkCancel(attempt, call)
  const { entropy, cipher } = call.ports
  const next = await encryptRekeySecrets(attempt, { nonce: entropy.uuid(), shares: [] }, cipher)
  const change = storeRekeySlot(gathered, { ...attemptStartsOf(gathered.slot), attempt: next }, call.now)
  return answerAfterChanges([change], dataAnswer(verification({ ...next, rekey: attempt.rekey })))
}
