import type { Ports } from '../ports.ts'

/** Where something failed: of which execution, and at which step. */
interface Place {
  workflow: string
  operation: string
  step: string
}

/**
 * A line for operators: which step failed, and all that is known of why.
 * @param isForeseen the step has given up with a text, which is kept where whoever asked finds it
 */
export function logStepFailure(
  { log }: Pick<Ports, 'log'>,
  place: Place,
  cause: unknown,
  isForeseen: boolean,
): void {
  const { name } = cause instanceof Error ? cause : new Error()
  const line = isForeseen ? log.warn : log.error
  line('step failed', { ...place, error: name, reason: messagesOf(cause) })
}

/** From the outermost to the innermost. */
const messagesOf = (cause: unknown): string[] =>
  cause instanceof Error
    ? [cause.message, ...(cause.cause === undefined ? [] : messagesOf(cause.cause))]
    : [String(cause)]
