import type { ApiError } from '../api/errors.ts'
import { isShareOf } from '../cluster/recovery.ts'
import type { Attempt, Purpose, Secrets, Slot, Tries } from '../model/ceremony.ts'
import type { RecoveryKey } from '../model/cluster.ts'
import { defined } from '../values/defined.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { sameSecret } from '../values/secret.ts'
import {
  attemptInProgress,
  duplicateShare,
  noAttempt,
  otherAttemptInProgress,
  strangerMayNotCancel,
  tooManyAttempts,
  unknownShare,
  wrongNonce,
} from './refusals.ts'

/**
 * Tries of each kind that the slot takes within a minute: the endpoints may ask for no token, so tries have to be
 * limited.
 */
const MOST_TRIES = 10
const TRIES_WINDOW_MS = 60_000

/** What is permitted, or the refusal by which nothing changes. */
type Verdict<T = undefined> = Result<T, ApiError>

export interface StartFacts {
  slot: Slot
  /** epoch milliseconds */
  now: number
}

type Counted = keyof Tries

const recent = ({ slot, now }: StartFacts, counted: Counted): number[] =>
  (slot[counted] ?? []).filter(at => at > now - TRIES_WINDOW_MS && at <= now)

/** Seconds until another try is taken; 0: at once. */
function waitFor(facts: StartFacts, counted: Counted): number {
  const oldest = recent(facts, counted).at(-MOST_TRIES)
  return oldest === undefined ? 0 : Math.ceil((oldest + TRIES_WINDOW_MS - facts.now) / 1000)
}

/** What the slot remembers of tries, with one more that was taken now. */
export const countTry = (facts: StartFacts, counted: Counted): Tries => ({
  ...triesOf(facts.slot),
  [counted]: [...recent(facts, counted), facts.now].slice(-MOST_TRIES),
})

/** What the slot remembers of tries. */
export const triesOf = ({ strangerStarts, authorisedStarts }: Slot): Tries =>
  defined({ strangerStarts, authorisedStarts })

/** The count that a start belongs to. @param held whether its caller may */
export const startCounter = (held: boolean): Counted => (held ? 'authorisedStarts' : 'strangerStarts')

/** Whether an attempt may start: one at a time, whatever it is for. @param held whether its caller may */
export function decideStart(facts: StartFacts, held: boolean): Verdict {
  const { attempt } = facts.slot
  if (attempt) return failed(attemptInProgress(attempt.purpose))
  const wait = waitFor(facts, startCounter(held))
  return wait > 0 ? failed(tooManyAttempts(wait)) : ok()
}

/**
 * Whether a caller may end an attempt. A stranger may while nobody has put anything into it; its nonce proves nothing,
 * because whoever looks is told it.
 * @param held whether the caller may in any case
 */
export function decideCancel(
  { authorised: begunByHolder, progress, purpose }: Attempt,
  held: boolean,
): Verdict {
  if (held || (!begunByHolder && progress === 0)) return ok()
  return failed(strangerMayNotCancel(purpose))
}

/** A share as it was given. */
export interface SubmittedShare {
  purpose: Purpose
  nonce: string
  share: Buffer
}

export interface ShareFacts {
  slot: Slot
  /** of the attempt in the slot */
  secrets: Secrets | undefined
  recovery: RecoveryKey
}

/** An attempt with one share more, perhaps the last one needed. */
export interface AdvancedAttempt {
  attempt: Attempt
  secrets: Secrets
  enough: boolean
}

/** Decides what a share does. One that is none of the set changes nothing, so the shares that are kept always make the key. */
export function decideShare(
  { purpose, nonce, share }: SubmittedShare,
  facts: ShareFacts,
): Verdict<AdvancedAttempt> {
  const { slot, secrets, recovery } = facts
  if (!slot.attempt || !secrets) return failed(noAttempt(purpose))
  const other = refusedFor(slot.attempt, purpose, nonce)
  if (other) return failed(other)
  if (!isShareOf(recovery, share)) return failed(unknownShare())
  const hex = share.toString('hex')
  if (secrets.shares.some(one => sameSecret(one, hex))) return failed(duplicateShare())
  const shares = [...secrets.shares, hex]
  return ok({
    attempt: slot.attempt,
    secrets: { ...secrets, shares },
    enough: shares.length >= recovery.threshold,
  })
}

function refusedFor(attempt: Attempt, purpose: Purpose, nonce: string): ApiError | undefined {
  if (attempt.nonce !== nonce) return wrongNonce(attempt.purpose, attempt.nonce)
  return attempt.purpose === purpose ? undefined : otherAttemptInProgress(attempt.purpose)
}
