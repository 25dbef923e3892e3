import { isObject } from '../values/json.ts'
import { readShape } from '../values/read-shape.ts'
import { aFlag, anyValue, aText, manyOf, object } from '../values/shape.ts'

/** What `explain` found of a login. */
export interface Explained {
  wouldSucceed: boolean
  checks: readonly { check: string; verdict: string; message: string; seen: string }[]
  sentence: string
}

/** A value as an administrator reads it: texts as they are, all else as JSON. */
export const shown = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

const check = object({ check: aText, verdict: aText }, { message: aText, seen: anyValue })
const explanation = object({ role: aText, login_would_succeed: aFlag, checks: manyOf(check) })

/** Reads the `data` of POST role/:role/explain. */
export function explainedOf(data: unknown): Explained {
  const {
    role = '',
    login_would_succeed: wouldSucceed = false,
    ...read
  } = readShape(explanation, data).fields
  const checks = (read.checks ?? []).map(({ message = '', seen, ...one }) => ({
    ...one,
    message,
    seen: shown(seen),
  }))
  const first = checks.find(({ verdict }) => verdict === 'fail')
  const sentence = wouldSucceed
    ? `A login with role ${role} would succeed.`
    : `A login with role ${role} would be refused at the check "${first?.check ?? 'unknown'}": ${first?.message || 'it does not say why'}.`
  return { wouldSucceed, checks, sentence }
}

/** Reads the parameters of a login as somebody pastes them: a JSON object. */
export function loginIn(text: string): { login: Readonly<Record<string, unknown>> } | { fault: string } {
  try {
    const login: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return isObject(login)
      ? { login }
      : { fault: 'The login must be a JSON object, as it is sent to the login path.' }
  } catch {
    return { fault: 'The login is not valid JSON.' }
  }
}
