/** How a state fails: by the error's name it may be tried again or caught. */
export class StateFault extends Error {
  readonly error: string
  readonly reason: string
  constructor(error: string, reason: string) {
    super(`${error}: ${reason}`)
    this.error = error
    this.reason = reason
  }
}

/** Faults of the machine itself and of its data: `States.ALL` does not stand for them. */
const TERMINAL = ['States.Runtime', 'States.DataLimitExceeded']

/** Which errors are no failure of a task's own: `States.TaskFailed` stands for all others. */
const NOT_OF_TASKS = [...TERMINAL, 'States.Timeout']

/**
 * Whether a list of error names stands for an error.
 * @see https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
 */
export const standsFor = (names: readonly string[], error: string): boolean =>
  names.some(
    name =>
      name === error ||
      (name === 'States.ALL' && !TERMINAL.includes(error)) ||
      (name === 'States.TaskFailed' && !NOT_OF_TASKS.includes(error)),
  )

/** Bytes that an input, an output, or what a task is given or answers may have. */
const MOST_BYTES = 262_144

/** @throws StateFault */
export function withinLimit<T>(what: string, value: T): T {
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? '')
  if (bytes <= MOST_BYTES) return value
  throw new StateFault('States.DataLimitExceeded', `${what} has ${bytes} bytes, and may have ${MOST_BYTES}`)
}
