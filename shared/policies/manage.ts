import { isUtf8 } from 'node:buffer'
import { after, answer, type Call, callerOf, data, keys, type Outcome, subjectOf } from '../api/call.ts'
import { ApiError, invalid } from '../api/errors.ts'
import { list, text } from '../api/fields.ts'
import { erase, replace } from '../storage/changes.ts'
import { key, partitions } from '../storage/kinds.ts'
import { decodeBase64 } from '../values/base64.ts'
import { capabilitiesOn } from './access.ts'
import { builtInPolicies } from './builtin.ts'
import { DEFAULT, isPolicyName, ROOT } from './names.ts'
import { PolicyFault, parsePolicy } from './parse.ts'

export const policyFields = {
  policy: text('The policy in HCL or JSON, also as base64'),
  rules: text('Deprecated: policy'),
}

const nameOf = (call: Call): string => call.params['policy_name'] ?? ''

/** POST sys/policies/acl/:policy_name and sys/policy/:policy_name. The text is kept as written. */
export function writePolicy(call: Call<typeof policyFields>): Outcome {
  const name = nameOf(call)
  if (name === ROOT) throw invalid('the policy root cannot be changed')
  if (!isPolicyName(name))
    throw invalid('a policy name may hold visible ASCII characters other than ":" and ","')
  const given = call.given.policy ?? call.given.rules ?? ''
  if (given.trim() === '') throw invalid('policy is required')
  const written = plainText(given)
  try {
    parsePolicy(written)
  } catch (error) {
    throw error instanceof PolicyFault ? invalid(`failed to parse policy: ${error.message}`) : error
  }
  return after([replace(key('policy', name), subjectOf(call, 'policy'), { text: written })])
}

// No policy is itself valid base64: none does without quotes or braces.
function plainText(given: string): string {
  const bytes = decodeBase64(given)
  if (bytes && !isUtf8(bytes)) throw invalid('policy is not UTF-8 text')
  return bytes?.toString('utf8') ?? given
}

function textOf(call: Call): string {
  const stored = subjectOf(call, 'policy')?.data.text ?? builtInPolicies.get(nameOf(call))
  if (stored === undefined) throw new ApiError('not_found')
  return stored
}

/** GET sys/policies/acl/:policy_name. */
export const readPolicy = (call: Call): Outcome => answer(data({ name: nameOf(call), policy: textOf(call) }))

/** GET sys/policy/:policy_name, the older form. */
export const readRules = (call: Call): Outcome => answer(data({ name: nameOf(call), rules: textOf(call) }))

export function deletePolicy(call: Call): Outcome {
  const name = nameOf(call)
  if (name === ROOT || name === DEFAULT) throw invalid(`the policy ${name} cannot be deleted`)
  return after([erase(key('policy', name))])
}

async function namesOf(call: Call): Promise<string[]> {
  const stored = await call.ports.store.list(partitions('policy'))
  return [...new Set([...builtInPolicies.keys(), ...stored.map(item => item.sk)])].sort()
}

/** LIST sys/policies/acl. */
export const listPolicies = async (call: Call): Promise<Outcome> => answer(keys(await namesOf(call)))

/** GET sys/policy, the older form: it names them twice. */
export async function listRules(call: Call): Promise<Outcome> {
  const names = await namesOf(call)
  return answer(data({ keys: names, policies: names }))
}

export const capabilityFields = {
  paths: list('Paths to tell the caller’s capabilities on'),
  path: text('Deprecated: paths'),
}

/** POST sys/capabilities-self. */
export function capabilitiesSelf(call: Call<typeof capabilityFields>): Outcome {
  const paths = [...(call.given.paths ?? []), ...(call.given.path ? [call.given.path] : [])].map(path =>
    path.replace(/^\//, ''),
  )
  if (paths.length === 0) throw invalid('paths is required')
  const { rights } = callerOf(call)
  const found = Object.fromEntries(paths.map(path => [path, capabilitiesOn(rights, path)]))
  const first = paths[0] ?? ''
  return answer(data({ ...found, ...(paths.length === 1 ? { capabilities: found[first] } : {}) }))
}
