import jsonata from 'jsonata'
import { StateFault } from './fault.ts'

/** Variables of expressions, without the dollar sign. */
export type ExpressionVariables = Readonly<Record<string, unknown>>

const EXPRESSION = /^\{%([\s\S]*)%\}$/
const compiled = new Map<string, jsonata.Expression>()

/**
 * Evaluates a template: replaces each text of the form `{% … %}` by the value of its expression.
 * @throws StateFault `States.QueryEvaluationError`, also for an expression without a value
 */
export async function evaluateTemplate(template: unknown, names: ExpressionVariables): Promise<unknown> {
  if (Array.isArray(template)) return Promise.all(template.map(one => evaluateTemplate(one, names)))
  if (typeof template === 'object' && template !== null) {
    const members = Object.entries(template).map(async ([name, one]) => [
      name,
      await evaluateTemplate(one, names),
    ])
    return Object.fromEntries(await Promise.all(members))
  }
  const [, expression] = typeof template === 'string' ? (EXPRESSION.exec(template) ?? []) : []
  return expression === undefined ? template : resultOf(expression, names)
}

async function resultOf(expression: string, names: ExpressionVariables): Promise<unknown> {
  const program = compiled.get(expression) ?? jsonata(expression)
  compiled.set(expression, program)
  const value = await program.evaluate(undefined, names).catch((error: unknown) => {
    // the library throws plain objects
    const { message = String(error) } = error as { message?: string }
    throw failed(expression, message)
  })
  const text = typeof value === 'function' ? undefined : JSON.stringify(value)
  if (text === undefined) throw failed(expression, 'the value of the expression is not valid JSON')
  return JSON.parse(text)
}

const failed = (expression: string, why: string) =>
  new StateFault('States.QueryEvaluationError', `the expression ${expression.trim()}: ${why}`)

/** Matches strings, quoted names, comments and regular expressions, which the search for syntax skips. */
const QUOTED =
  /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|\/\*[\s\S]*?\*\/|(?<=[(,>]\s*)\/(?:\\.|[^/\\])+\/[im]*/g

/**
 * Syntax that our library accepts and the service's older version rejects, and functions that only the service has.
 */
const UNSUPPORTED: readonly (readonly [pattern: RegExp, fault: string])[] = [
  [/\?\s*:/, 'the operator ?: is unknown to Step Functions'],
  [/\?\?/, 'the operator ?? is unknown to Step Functions'],
  [/\$eval\b/, 'the function $eval is unknown to Step Functions'],
  ...['parse', 'uuid', 'hash', 'range', 'partition'].map(
    name => [new RegExp(`\\$${name}\\b`), `the function $${name} is not supported here`] as const,
  ),
]

/** Returns the faults of a template's expressions, or an empty list. */
export function findTemplateFaults(template: unknown): string[] {
  if (typeof template === 'object' && template !== null)
    return Object.values(template).flatMap(findTemplateFaults)
  if (typeof template !== 'string') return []
  const [, expression] = EXPRESSION.exec(template) ?? []
  if (expression === undefined) {
    return template.includes('{%') || template.includes('%}')
      ? [`${template}: must be an expression as a whole`]
      : []
  }
  const program = expression.replace(QUOTED, '""')
  const unsupported = UNSUPPORTED.filter(([pattern]) => pattern.test(program))
  return [
    ...unsupported.map(([, fault]) => `${template}: ${fault}`),
    ...(isProgram(expression) ? [] : [`${template}: cannot be read`]),
  ]
}

function isProgram(expression: string): boolean {
  try {
    jsonata(expression)
    return true
  } catch {
    return false
  }
}
