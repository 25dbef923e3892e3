import { jsonText, listIn, objectOf } from './json.ts'

/** What `explain` found of a login. */
export interface Explained {
  wouldSucceed: boolean
  checks: readonly { check: string; verdict: string; message: string; seen: string }[]
  sentence: string
}

/** A value as an administrator reads it: texts as they are, all else as JSON. */
export const shown = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

/** Reads the `data` of POST role/:role/explain. */
export function explainedOf(data: unknown): Explained {
  const all = objectOf(data)
  const checks = listIn(all['checks'])
    .map(objectOf)
    .map(one => ({
      check: jsonText(one['check']),
      verdict: jsonText(one['verdict']),
      message: jsonText(one['message']),
      seen: shown(one['seen']),
    }))
  const wouldSucceed = all['login_would_succeed'] === true
  const first = checks.find(({ verdict }) => verdict === 'fail')
  const sentence = wouldSucceed
    ? `A login with role ${jsonText(all['role'])} would succeed.`
    : `A login with role ${jsonText(all['role'])} would be refused at the check "${first?.check ?? 'unknown'}": ${first?.message ?? 'it does not say why'}.`
  return { wouldSucceed, checks, sentence }
}

/** Reads the parameters of a login as somebody pastes them: a JSON object. */
export function loginIn(text: string): { login: Readonly<Record<string, unknown>> } | { fault: string } {
  try {
    const read: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return typeof read === 'object' && read !== null && !Array.isArray(read)
      ? { login: read as Readonly<Record<string, unknown>> }
      : { fault: 'The login must be a JSON object, as it is sent to the login path.' }
  } catch {
    return { fault: 'The login is not valid JSON.' }
  }
}
