import type { Acl } from '../../../shared/model/acl.ts'
import { unitePolicyRules } from '../../../shared/policies/access.ts'
import type { RequestParameter } from '../../../shared/policies/parameters.ts'
import { parsePolicy } from '../../../shared/policies/parse.ts'

/** Short form of policy rules: capabilities by path, separated by spaces, or a whole rule body. */
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

/** Builds a parameter that belongs to no field. */
export const parameter = (name: string, value: unknown): RequestParameter => ({
  names: [name],
  value,
  read: raw => raw,
})

/** Builds the rights of a caller with these policies. */
export const access = (...policies: Short[]): Acl => ({
  root: false,
  rules: unitePolicyRules(policies.map(policy => parsePolicy(textOf(policy)))),
})
