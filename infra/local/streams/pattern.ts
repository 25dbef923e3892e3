/**
 * Reports whether an event matches a pattern: the pattern's members must be members of the event, and lists
 * name the allowed values or prefixes. Patterns with other rules throw an error, because ignoring a rule
 * would hide a difference to AWS.
 * @see https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
 */
export function matchesEventPattern(pattern: unknown, event: unknown): boolean {
  if (Array.isArray(pattern)) return pattern.some(rule => allows(rule, event))
  if (typeof pattern !== 'object' || pattern === null)
    throw new Error('a pattern is made of objects and lists')
  return Object.entries(pattern).every(([name, inner]) => matchesEventPattern(inner, memberOf(event, name)))
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

function allows(rule: unknown, value: unknown): boolean {
  if (typeof rule !== 'object' || rule === null) return rule === value
  const [[name, argument] = [], ...more] = Object.entries(rule)
  if (name !== 'prefix' || more.length > 0)
    throw new Error(`the embedded host does not know the filter rule ${JSON.stringify(rule)}`)
  return typeof value === 'string' && value.startsWith(String(argument))
}
