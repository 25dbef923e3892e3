import { LinkRefused, LinkSilent, LinkUnbelieved, LinkUnsigned } from '../../link/source.ts'
import type { PrimaryContact, UnansweredCall } from '../../model/link.ts'
import { bounds } from '../../values/bounds.ts'

// How long a primary has been silent. The clock alone cannot measure the silence, because an operator may have set
// the clock, and a frozen process makes no calls. Therefore unanswered calls add up to the silence: each call adds
// the time since the previous call, up to a limit.

type CallHistory = Pick<PrimaryContact, 'at' | 'failedCall'>

/** Returns the primary's silence in milliseconds, including an unanswered call now. @param now epoch milliseconds */
export function addSilenceTime({ at, failedCall }: CallHistory, now: number): number {
  const since = now - (failedCall?.at ?? at)
  return (failedCall?.silentMs ?? 0) + Math.max(0, Math.min(since, bounds.SILENCE_STEP_MS))
}

/**
 * Reports whether a call got no answer from any cluster. An unsigned answer, or an answer signed by other keys,
 * neither ends a silence nor adds to it.
 */
const isSilence = (error: unknown): boolean =>
  error instanceof LinkSilent && !(error instanceof LinkUnsigned || error instanceof LinkUnbelieved)

/** Returns the contact to store after an unanswered or refused call. @param contact the stored contact */
export function toUnansweredCall(
  error: unknown,
  contact: CallHistory | undefined,
  now: number,
): UnansweredCall {
  const refuses = error instanceof LinkRefused
  const before = contact?.failedCall?.silentMs ?? 0
  const silentMs = contact && isSilence(error) ? addSilenceTime(contact, now) : refuses ? 0 : before
  return {
    at: now,
    code: refuses ? error.code : 'unavailable',
    text: error instanceof Error ? error.message : '',
    silentMs,
  }
}
