/**
 * Reports whether a value equals a configured one, or begins with it if it ends in `*`. A `*` elsewhere is an ordinary character,
 * because IAM paths may contain it.
 * @see docs/spec/login-ec2.md#constraints
 */
export const matchesPattern = (configured: string, value: string): boolean =>
  configured.endsWith('*') ? value.startsWith(configured.slice(0, -1)) : configured === value

/** Reports whether a glob matches a value. Each `*` matches any text, also none. Runs in a single pass over the value. */
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

/** Reports whether a value is in a list. An empty list matches everything. */
export const isInConfiguredList = (configured: readonly string[], value: string | undefined): boolean =>
  configured.length === 0 || (value !== undefined && configured.includes(value))

/** Reports whether a value matches an entry, with trailing wildcards. An empty list matches everything. */
export const matchesAnyPattern = (configured: readonly string[], value: string | undefined): boolean =>
  configured.length === 0 || (value !== undefined && configured.some(one => matchesPattern(one, value)))
