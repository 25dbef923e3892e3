/** An IAM policy statement, with the elements that our templates use. `ruled` refuses all other elements. */
export interface Statement {
  Effect: 'Allow' | 'Deny'
  Action: string | readonly string[]
  Resource: string | readonly string[]
  Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>
}

/** A request to a service, as IAM sees it. */
export interface IamRequest {
  /** `dynamodb:PutItem` … */
  action: string
  /** an ARN, or `*` for an action without resources */
  resource: string
  /** values by condition key, without the keys that the request lacks */
  context: Readonly<Record<string, readonly string[]>>
}

export interface Verdict {
  allowed: boolean
  /**
   * the deciding statements: the statements that allow, or the first statement that denies; empty: no
   * statement allows the request
   */
  by: readonly Rule[]
}

/** A policy statement, prepared for many requests. */
export interface Rule {
  statement: Statement
  covers: (request: Pick<IamRequest, 'action' | 'resource'>) => boolean
  holds: (context: IamRequest['context']) => boolean
}

type Test = (values: readonly string[] | undefined) => boolean

export const listOf = (value: string | readonly string[]): readonly string[] =>
  typeof value === 'string' ? [value] : value

/** Returns a test for a pattern with `*` for any text and `?` for any letter. */
export function like(pattern: string, flags = ''): (text: string) => boolean {
  if (pattern.includes('${')) throw new Error(`policy variables are not judged: ${pattern}`)
  if (!/[*?]/.test(pattern) && flags === '') return text => text === pattern
  const parts = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  const expression = new RegExp(`^${parts}$`, `s${flags}`)
  return text => expression.test(text)
}

const anyOf =
  (patterns: readonly ((text: string) => boolean)[]) =>
  (text: string): boolean =>
    patterns.some(matches => matches(text))

/**
 * The comparison operators of IAM conditions, for a single value. Negated operators hold if the request lacks
 * the key.
 */
const operators: Readonly<
  Record<string, { not: boolean; matcher: (wanted: string) => (text: string) => boolean }>
> = {
  StringEquals: { not: false, matcher: wanted => text => text === wanted },
  StringNotEquals: { not: true, matcher: wanted => text => text === wanted },
  StringLike: { not: false, matcher: wanted => like(wanted) },
  StringNotLike: { not: true, matcher: wanted => like(wanted) },
}

/**
 * Returns the test of a condition operator such as `ForAllValues:StringLike`, `StringEqualsIfExists` or
 * `Null`, with the wanted values of a key.
 */
function testOf(name: string, wanted: readonly string[]): Test {
  if (name === 'Null') return values => wanted.includes(String(values === undefined || values.length === 0))
  const [, set, plain = '', optional] =
    /^(?:(ForAllValues|ForAnyValue):(?!.*IfExists))?(\w+?)(IfExists)?$/.exec(name) ?? []
  const operator = operators[plain]
  if (!operator) throw new Error(`the condition ${name} is not judged`)
  const matches = anyOf(wanted.map(operator.matcher))
  const holds = (value: string): boolean => matches(value) !== operator.not
  return values => {
    if (values === undefined || values.length === 0)
      return set ? set === 'ForAllValues' : operator.not || optional !== undefined
    if (set === 'ForAllValues') return values.every(holds)
    if (set === 'ForAnyValue') return values.some(holds)
    if (values.length > 1) throw new Error(`${name} is asked about several values: ${values.join(', ')}`)
    return holds(values[0] ?? '')
  }
}

const ELEMENTS = ['Effect', 'Action', 'Resource', 'Condition', 'Sid', 'Principal']

/**
 * Prepares a policy statement for many requests.
 * @throws Error for an element of the policy language that this evaluator does not support, because ignoring
 * the element would give a wrong result
 */
export function ruled(statement: Statement): Rule {
  const unknown = Object.keys(statement).find(name => !ELEMENTS.includes(name))
  if (unknown) throw new Error(`the element ${unknown} is not judged`)
  const actions = anyOf(listOf(statement.Action).map(action => like(action, 'i')))
  const resources = anyOf(listOf(statement.Resource).map(resource => like(resource)))
  const tests = Object.entries(statement.Condition ?? {}).flatMap(([operator, of]) =>
    Object.entries(of).map(([key, wanted]) => ({
      key: key.toLowerCase(),
      test: testOf(operator, listOf(wanted)),
    })),
  )
  return {
    statement,
    covers: ({ action, resource }) => actions(action) && resources(resource),
    holds: context => {
      if (tests.length === 0) return true
      const lower = Object.fromEntries(Object.entries(context).map(([key, of]) => [key.toLowerCase(), of]))
      return tests.every(({ key, test }) => test(lower[key]))
    },
  }
}

/**
 * Evaluates the policies of one role as IAM does: a denial wins, and a request without an allowing statement is
 * refused.
 */
export const evaluate = (rules: readonly Rule[], request: IamRequest): Verdict =>
  decide(
    rules.filter(rule => rule.covers(request)),
    request.context,
  )

/** Decides a request by the rules that cover its action and resource. */
export function decide(covering: readonly Rule[], context: IamRequest['context']): Verdict {
  const met = covering.filter(rule => rule.holds(context))
  const denied = met.find(({ statement }) => statement.Effect === 'Deny')
  return denied ? { allowed: false, by: [denied] } : { allowed: met.length > 0, by: met }
}
