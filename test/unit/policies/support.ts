import type { Acl } from '../../../shared/model/acl.ts'
import { uniteRules } from '../../../shared/policies/access.ts'
import type { Parameter } from '../../../shared/policies/parameters.ts'
import { parsePolicy } from '../../../shared/policies/parse.ts'

/** Rules in short: capabilities by path, separated by spaces; or a whole body. */
export type Short = Record<string, string | Record<string, unknown>>

const textOf = (policy: Short): string =>
  JSON.stringify({
    path: Object.fromEntries(
      Object.entries(policy).map(([path, body]) => [
        path,
        typeof body === 'string' ? { capabilities: body.split(' ') } : body,
      ]),
    ),
  })

/** A parameter that no field reads. */
export const parameter = (name: string, value: unknown): Parameter => ({
  names: [name],
  value,
  read: raw => raw,
})

/** What somebody may do who has these policies. */
export const access = (...policies: Short[]): Acl => ({
  root: false,
  rules: uniteRules(policies.map(policy => parsePolicy(textOf(policy)))),
})
