/**
 * Whether a value equals a configured one, or begins with it where the configured one ends in `*`.
 * A `*` anywhere else is an ordinary character: it is legal in IAM paths. @see auth-behaviour 4.2.6
 */
export const matches = (configured: string, value: string): boolean =>
  configured.endsWith('*') ? value.startsWith(configured.slice(0, -1)) : configured === value

/** Whether a value is in a list; an empty list binds nothing and so admits everything. */
export const isIn = (configured: readonly string[], value: string | undefined): boolean =>
  configured.length === 0 || (value !== undefined && configured.includes(value))

/** The same with trailing wildcards. */
export const matchesAny = (configured: readonly string[], value: string | undefined): boolean =>
  configured.length === 0 || (value !== undefined && configured.some(one => matches(one, value)))
