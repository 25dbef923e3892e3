import type { Ports } from '../ports.ts'

/** The execution and the step that failed. */
interface Place {
  workflow: string
  operation: string
  step: string
}

/**
 * Logs which step failed, and every known cause.
 * @param isForeseen the step failed with a text of ours, which the operation's caller gets
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

/** Returns the messages of an error and its causes, the outermost first. */
const messagesOf = (cause: unknown): string[] =>
  cause instanceof Error
    ? [cause.message, ...(cause.cause === undefined ? [] : messagesOf(cause.cause))]
    : [String(cause)]
