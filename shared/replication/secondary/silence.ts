import { LinkRefused, LinkSilent, LinkUnbelieved, LinkUnsigned } from '../../link/source.ts'
import type { PrimaryContact, VainQuestion } from '../../model/link.ts'
import { bounds } from '../../values/bounds.ts'

// For how long a primary has been silent. The clock alone does not tell: it may have been set, and who looks at it may
// have stood still, or may not have asked. So silence is added up from questions in vain, and each of them adds only so
// much as may lie between two of them.

type Asked = Pick<PrimaryContact, 'at' | 'refused'>

/** Milliseconds of silence that a question shows which is asked in vain at a moment, epoch milliseconds. */
export function silenceWith({ at, refused }: Asked, now: number): number {
  const since = now - (refused?.at ?? at)
  return (refused?.silentMs ?? 0) + Math.max(0, Math.min(since, bounds.SILENCE_STEP_MS))
}

/** Nobody was reached. Who answered without being believed ends no silence, and adds nothing to it. */
const isSilence = (error: unknown): boolean =>
  error instanceof LinkSilent && !(error instanceof LinkUnsigned || error instanceof LinkUnbelieved)

/** What is kept of a question that was asked in vain. `contact`: what was known before. */
export function vainQuestion(error: unknown, contact: Asked | undefined, now: number): VainQuestion {
  const refuses = error instanceof LinkRefused
  const before = contact?.refused?.silentMs ?? 0
  const silentMs = contact && isSilence(error) ? silenceWith(contact, now) : refuses ? 0 : before
  return {
    at: now,
    code: refuses ? error.code : 'unavailable',
    text: error instanceof Error ? error.message : '',
    silentMs,
  }
}
