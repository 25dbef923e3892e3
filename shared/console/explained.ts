import { isObject } from '../values/json.ts'
import { readShape } from '../values/read-shape.ts'
import { anyShape, arrayShape, flagShape, objectShape, textShape } from '../values/shape.ts'

/** The result of `explain` for a login. */
export interface LoginExplanation {
  wouldSucceed: boolean
  checks: readonly { check: string; verdict: string; message: string; seen: string; wanted: string }[]
  sentence: string
}

/** Formats a value for an administrator: a text stays as it is, any other value becomes JSON. */
export const formatCheckValue = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

const check = objectShape(
  { check: textShape, verdict: textShape },
  { message: textShape, seen: anyShape, wanted: anyShape },
)
const explanation = objectShape({
  role: textShape,
  login_would_succeed: flagShape,
  checks: arrayShape(check),
})

/** Reads the `data` of POST role/:role/explain. */
export function readLoginExplanation(data: unknown): LoginExplanation {
  const {
    role = '',
    login_would_succeed: wouldSucceed = false,
    ...read
  } = readShape(explanation, data).fields
  const checks = (read.checks ?? []).map(({ message = '', seen, wanted, ...one }) => ({
    ...one,
    message,
    seen: formatCheckValue(seen),
    wanted: formatCheckValue(wanted),
  }))
  const first = checks.find(({ verdict }) => verdict === 'fail')
  const sentence = wouldSucceed
    ? `A login with role ${role} would succeed.`
    : `A login with role ${role} would fail at the check "${first?.check ?? 'unknown'}": ${first?.message || 'the check gives no reason'}.`
  return { wouldSucceed, checks, sentence }
}

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Parses the login parameters that were pasted: a JSON object, or a token that AWS signed. */
export function parseLoginJson(
  text: string,
): { login: Readonly<Record<string, unknown>> } | { fault: string } {
  if (TOKEN.test(text.trim())) return { login: { jwt: text.trim() } }
  try {
    const login: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return isObject(login)
      ? { login }
      : { fault: 'The login must be a JSON object, as clients send it to the login path.' }
  } catch {
    return { fault: 'The login is not valid JSON.' }
  }
}
