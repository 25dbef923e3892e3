/**
 * Whether a value equals a configured one, or begins with it where the configured one ends in `*`.
 * A `*` anywhere else is an ordinary character: it is legal in IAM paths.
 * @see docs/spec/login-ec2.md#constraints
 */
export const matchesPattern = (configured: string, value: string): boolean =>
  configured.endsWith('*') ? value.startsWith(configured.slice(0, -1)) : configured === value

/** Whether a glob covers a value: each `*`, wherever it stands, is any text, also none. Looks at the value once. */
export function matchesGlob(glob: string, value: string): boolean {
  const [first = '', ...rest] = glob.split('*')
  const last = rest.pop()
  if (last === undefined) return glob === value
  if (value.length < first.length + last.length || !value.startsWith(first) || !value.endsWith(last))
    return false
  let from = first.length
  const end = value.length - last.length
  for (const part of rest) {
    const at = value.indexOf(part, from)
    if (at < 0 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}

/** Whether a value is in a list; an empty list binds nothing and so admits everything. */
export const isIn = (configured: readonly string[], value: string | undefined): boolean =>
  configured.length === 0 || (value !== undefined && configured.includes(value))

/** The same with trailing wildcards. */
export const matchesAny = (configured: readonly string[], value: string | undefined): boolean =>
  configured.length === 0 || (value !== undefined && configured.some(one => matchesPattern(one, value)))
