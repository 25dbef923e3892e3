import type { ApiError } from '../api/errors.ts'
import { isShareOf } from '../cluster/recovery.ts'
import type {
  AttemptSecrets,
  AttemptStarts,
  CeremonyAttempt,
  CeremonyPurpose,
  CeremonySlot,
} from '../model/ceremony.ts'
import type { RecoveryKey } from '../model/cluster.ts'
import { defined } from '../values/defined.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { secretsEqual } from '../values/secret.ts'
import {
  anonymousCancelError,
  attemptInProgressError,
  duplicateShareError,
  noAttemptError,
  otherAttemptError,
  tooManyAttemptsError,
  unknownShareError,
  wrongNonceError,
} from './refusals.ts'

/** Maximum number of starts of each kind per minute. A limit is needed because the endpoints may be anonymous. */
const MOST_TRIES = 10
const TRIES_WINDOW_MS = 60_000

/** The permission to go on, or the error. */
type Verdict<T = undefined> = Result<T, ApiError>

export interface AttemptStartFacts {
  slot: CeremonySlot
  /** epoch milliseconds */
  now: number
}

type Counted = keyof AttemptStarts

const recent = ({ slot, now }: AttemptStartFacts, counted: Counted): number[] =>
  (slot[counted] ?? []).filter(at => at > now - TRIES_WINDOW_MS && at <= now)

/** Returns the seconds until the next start is allowed; 0: now. */
function waitFor(facts: AttemptStartFacts, counted: Counted): number {
  const oldest = recent(facts, counted).at(-MOST_TRIES)
  return oldest === undefined ? 0 : Math.ceil((oldest + TRIES_WINDOW_MS - facts.now) / 1000)
}

/** Adds a start now to the slot's recorded starts. */
export const countAttemptStart = (facts: AttemptStartFacts, counted: Counted): AttemptStarts => ({
  ...attemptStartsOf(facts.slot),
  [counted]: [...recent(facts, counted), facts.now].slice(-MOST_TRIES),
})

/** Returns the recorded starts of the slot. */
export const attemptStartsOf = ({ strangerStarts, authorisedStarts }: CeremonySlot): AttemptStarts =>
  defined({ strangerStarts, authorisedStarts })

/** Returns the counter for a start. @param held true if the caller is authorised */
export const attemptCounterName = (held: boolean): Counted => (held ? 'authorisedStarts' : 'strangerStarts')

/** Decides whether an attempt may start. Only one attempt of any kind runs at a time. @param held true if the caller is authorised */
export function decideAttemptStart(facts: AttemptStartFacts, held: boolean): Verdict {
  const { attempt } = facts.slot
  if (attempt) return failed(attemptInProgressError(attempt.purpose))
  const wait = waitFor(facts, attemptCounterName(held))
  return wait > 0 ? failed(tooManyAttemptsError(wait)) : ok()
}

/**
 * Decides whether a caller may cancel an attempt. An anonymous caller may do so only before the first share, and not if an authorised
 * caller started the attempt. The nonce proves nothing, because everyone can read it.
 * @param held true if the caller is authorised
 */
export function decideAttemptCancel(
  { authorised: begunByHolder, progress, purpose }: CeremonyAttempt,
  held: boolean,
): Verdict {
  if (held || (!begunByHolder && progress === 0)) return ok()
  return failed(anonymousCancelError(purpose))
}

/** A submitted share. */
export interface SubmittedShare {
  purpose: CeremonyPurpose
  nonce: string
  share: Buffer
}

export interface SubmittedShareFacts {
  slot: CeremonySlot
  /** secrets of the attempt in the slot */
  secrets: AttemptSecrets | undefined
  recovery: RecoveryKey
}

/** An attempt with one more share; `enough` is true if it was the last required one. */
export interface AdvancedAttempt {
  attempt: CeremonyAttempt
  secrets: AttemptSecrets
  enough: boolean
}

/**
 * Decides the effect of a share. A share that does not belong to the recovery key is rejected, so the collected shares always
 * restore the key.
 */
export function decideShare(
  { purpose, nonce, share }: SubmittedShare,
  facts: SubmittedShareFacts,
): Verdict<AdvancedAttempt> {
  const { slot, secrets, recovery } = facts
  if (!slot.attempt || !secrets) return failed(noAttemptError(purpose))
  const other = refusedFor(slot.attempt, purpose, nonce)
  if (other) return failed(other)
  if (!isShareOf(recovery, share)) return failed(unknownShareError())
  const hex = share.toString('hex')
  if (secrets.shares.some(one => secretsEqual(one, hex))) return failed(duplicateShareError())
  const shares = [...secrets.shares, hex]
  return ok({
    attempt: slot.attempt,
    secrets: { ...secrets, shares },
    enough: shares.length >= recovery.threshold,
  })
}

function refusedFor(attempt: CeremonyAttempt, purpose: CeremonyPurpose, nonce: string): ApiError | undefined {
  if (attempt.nonce !== nonce) return wrongNonceError(attempt.purpose, attempt.nonce)
  return attempt.purpose === purpose ? undefined : otherAttemptError(attempt.purpose)
}
