/**
 * Reports whether an event of a log group matches a filter pattern of CloudWatch Logs. It supports the patterns of
 * our templates: comparisons of members with texts, `IS TRUE`, `&&`, `
 * ` and parentheses.
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntaxForMetricFilters.html
 * @throws Error for any other pattern
 */
export function fits(pattern: string, line: string): boolean {
  const words = pattern.match(/\$[\w.[\]]+|"[^"]*"|&&|\|\||[(){}=]|IS|TRUE|\S+/g) ?? []
  let at = 0
  const event = jsonIn(line)
  const take = (wanted?: string): string => {
    const word = words[at++] ?? ''
    if (wanted !== undefined && word !== wanted)
      throw new Error(`${wanted} is missing before ${word} in ${pattern}`)
    return word
  }
  const any = (): boolean => {
    let found = all()
    while (words[at] === '||') {
      take()
      found = all() || found
    }
    return found
  }
  const all = (): boolean => {
    let found = one()
    while (words[at] === '&&') {
      take()
      found = one() && found
    }
    return found
  }
  const one = (): boolean => {
    if (words[at] === '(') {
      take()
      const found = any()
      take(')')
      return found
    }
    const value = memberOf(event, take())
    if (words[at] === 'IS') {
      take()
      take('TRUE')
      return value === true
    }
    take('=')
    const wanted = take()
    if (!/^".*"$/.test(wanted)) throw new Error(`${wanted} is no text in ${pattern}`)
    return equals(value, wanted.slice(1, -1))
  }
  take('{')
  const found = any()
  take('}')
  return event !== undefined && found
}

function equals(value: unknown, wanted: string): boolean {
  // a star matches any existing value, also an object
  if (wanted === '*') return value !== undefined
  return wanted.endsWith('*') ? String(value).startsWith(wanted.slice(0, -1)) : value === wanted
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Returns the member of an event that a selector such as `$.a.b[0]` names. */
function memberOf(event: unknown, selector: string): unknown {
  if (!/^\$(\.\w+(\[\d+\])?)+$/.test(selector)) throw new Error(`${selector} is no selector`)
  return (selector.match(/\w+/g) ?? []).reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined,
    event,
  )
}
