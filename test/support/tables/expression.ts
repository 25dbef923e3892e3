import type { Wire, WireItem } from './wire-values.ts'

/** The names and values of an expression. */
export interface Terms {
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: WireItem
}

type Holds = (item: WireItem, terms: Terms) => boolean
type Operand = (item: WireItem, terms: Terms) => Wire | undefined

const TOKEN = /\s*(<>|<=|>=|[(),=<>]|[#:]?\w+)/y

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) tokens.push(match[1] ?? '')
  return tokens
}

const operand = (token: string): Operand =>
  token.startsWith(':')
    ? (_, { ExpressionAttributeValues: values = {} }) => values[token]
    : (item, { ExpressionAttributeNames: names = {} }) => item[names[token] ?? token]

/**
 * Compares two values. Returns a number below 0, 0, or above 0, or undefined when the two values cannot be
 * compared.
 */
function compared(a: Wire | undefined, b: Wire | undefined): number | undefined {
  if (a?.S !== undefined && b?.S !== undefined) return a.S < b.S ? -1 : Number(a.S > b.S)
  if (a?.N !== undefined && b?.N !== undefined) return Number(a.N) - Number(b.N)
  if (a === undefined || b === undefined) return undefined
  return JSON.stringify(a) === JSON.stringify(b) ? 0 : undefined
}

const operators: Record<string, (order: number | undefined) => boolean> = {
  '=': order => order === 0,
  '<>': order => order !== 0,
  '<': order => order !== undefined && order < 0,
  '<=': order => order !== undefined && order <= 0,
  '>': order => order !== undefined && order > 0,
  '>=': order => order !== undefined && order >= 0,
}

const functions: Record<string, (of: Operand, other: Operand) => Holds> = {
  attribute_exists: of => (item, terms) => of(item, terms) !== undefined,
  attribute_not_exists: of => (item, terms) => of(item, terms) === undefined,
  begins_with: (of, other) => (item, terms) =>
    of(item, terms)?.S?.startsWith(other(item, terms)?.S ?? '\0') === true,
}

/** Parses a condition expression of DynamoDB, as far as this project uses the language. */
function parsed(text: string): Holds {
  const tokens = tokensOf(text)
  const take = (): string => tokens.shift() ?? ''
  const either = (): Holds => {
    const all = [both()]
    while (tokens[0] === 'OR') {
      take()
      all.push(both())
    }
    return (item, terms) => all.some(one => one(item, terms))
  }
  const both = (): Holds => {
    const all = [single()]
    while (tokens[0] === 'AND') {
      take()
      all.push(single())
    }
    return (item, terms) => all.every(one => one(item, terms))
  }
  const list = (): Operand[] => {
    const given: Operand[] = []
    for (take(); tokens[0] !== ')'; ) {
      const token = take()
      if (token !== ',') given.push(operand(token))
    }
    take()
    return given
  }
  const single = (): Holds => {
    const token = take()
    if (token === 'NOT') {
      const not = single()
      return (item, terms) => !not(item, terms)
    }
    if (token === '(') {
      const inner = either()
      take()
      return inner
    }
    const make = functions[token]
    if (make) {
      const [of = operand(''), other = operand('')] = list()
      return make(of, other)
    }
    const [left, verb] = [operand(token), take()]
    if (verb === 'IN') {
      const among = list()
      return (item, terms) => among.some(one => compared(left(item, terms), one(item, terms)) === 0)
    }
    const [right, holds] = [operand(take()), operators[verb]]
    if (!holds) throw new Error(`${verb} in ${text}`)
    return (item, terms) => holds(compared(left(item, terms), right(item, terms)))
  }
  const whole = either()
  if (tokens.length > 0) throw new Error(`what follows is not understood: ${tokens.join(' ')} in ${text}`)
  return whole
}

const known = new Map<string, Holds>()

/** Reports whether a condition holds for an item. A missing item has no attributes. */
export function holds(text: string | undefined, item: WireItem | undefined, terms: Terms): boolean {
  if (!text) return true
  const condition = known.get(text) ?? parsed(text)
  known.set(text, condition)
  return condition(item ?? {}, terms)
}

const CLAUSE = /\b(SET|ADD|REMOVE) (.*?)(?= *\b(?:SET|ADD|REMOVE) |$)/g

/** Returns an item after an update expression. */
export function updatedBy(text: string, item: WireItem, terms: Terms): WireItem {
  const next = { ...item }
  const nameOf = (term = '') => terms.ExpressionAttributeNames?.[term] ?? term
  const given = (term = ''): Wire => terms.ExpressionAttributeValues?.[term] ?? { NULL: true }
  for (const [, verb, parts = ''] of text.matchAll(CLAUSE))
    for (const part of parts.split(',').map(one => one.trim())) {
      const [term, value] = part.split(/ *= *| +/)
      const name = nameOf(term)
      if (verb === 'SET') next[name] = given(value)
      if (verb === 'ADD') next[name] = { N: String(BigInt(next[name]?.N ?? 0) + BigInt(given(value).N ?? 0)) }
      if (verb === 'REMOVE') delete next[name]
    }
  return next
}
