import { LinkRefused, LinkSilent, LinkUnbelieved, LinkUnsigned } from '../../link/source.ts'
import type { PrimaryContact, UnansweredCall } from '../../model/link.ts'
import { bounds } from '../../values/bounds.ts'

// For how long a primary has been silent. The clock alone cannot tell: it may have been set, and the process that reads it
// may have stood still, or may not have called. So silence is added up from unanswered calls: each adds the time since the
// call before it, up to a bound.

type CallHistory = Pick<PrimaryContact, 'at' | 'failedCall'>

/** Milliseconds of silence, with a call that is not answered now. @param now epoch milliseconds */
export function addSilence({ at, failedCall }: CallHistory, now: number): number {
  const since = now - (failedCall?.at ?? at)
  return (failedCall?.silentMs ?? 0) + Math.max(0, Math.min(since, bounds.SILENCE_STEP_MS))
}

/** Nobody was reached. An answer that cannot be believed neither ends a silence nor adds to it. */
const isSilence = (error: unknown): boolean =>
  error instanceof LinkSilent && !(error instanceof LinkUnsigned || error instanceof LinkUnbelieved)

/** What is stored about an unanswered or refused call. @param contact what was known before */
export function toUnansweredCall(
  error: unknown,
  contact: CallHistory | undefined,
  now: number,
): UnansweredCall {
  const refuses = error instanceof LinkRefused
  const before = contact?.failedCall?.silentMs ?? 0
  const silentMs = contact && isSilence(error) ? addSilence(contact, now) : refuses ? 0 : before
  return {
    at: now,
    code: refuses ? error.code : 'unavailable',
    text: error instanceof Error ? error.message : '',
    silentMs,
  }
}
