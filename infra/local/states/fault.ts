/** The failure of a state. The error name of a fault decides which retriers and catchers apply. */
export class StateFault extends Error {
  readonly error: string
  readonly reason: string
  constructor(error: string, reason: string) {
    super(`${error}: ${reason}`)
    this.error = error
    this.reason = reason
  }
}

/** Errors of the state machine and its data, which `States.ALL` does not include. */
const TERMINAL = ['States.Runtime', 'States.DataLimitExceeded']

/** Errors that `States.TaskFailed` does not include. */
const NOT_OF_TASKS = [...TERMINAL, 'States.Timeout']

/**
 * Reports whether a list of error names includes an error.
 * @see https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
 */
export const errorNamesMatch = (names: readonly string[], error: string): boolean =>
  names.some(
    name =>
      name === error ||
      (name === 'States.ALL' && !TERMINAL.includes(error)) ||
      (name === 'States.TaskFailed' && !NOT_OF_TASKS.includes(error)),
  )

/** Maximum bytes of an input, an output, or a task's argument or result. */
const MOST_BYTES = 262_144

/** Checks the size of a value. @throws StateFault if the value is too large */
export function requireWithinLimit<T>(what: string, value: T): T {
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? '')
  if (bytes <= MOST_BYTES) return value
  throw new StateFault(
    'States.DataLimitExceeded',
    `${what} has ${bytes} bytes, but the limit is ${MOST_BYTES}`,
  )
}
