import { isUtf8 } from 'node:buffer'
import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  keyListAnswer,
} from '../api/call.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { textField } from '../api/fields.ts'
import { type listFields, readPageParameters, selectPage } from '../api/listing.ts'
import { deleteSubject, subjectKeyOf, subjectOf } from '../api/subject.ts'
import { replaceItem } from '../storage/changes.ts'
import { itemPartitions } from '../storage/kinds.ts'
import { readBase64 } from '../values/base64.ts'
import { builtInPolicies } from './builtin.ts'
import { DEFAULT_POLICY_NAME, isPolicyName, POLICY_NAMES_TEXT, ROOT_POLICY_NAME } from './names.ts'
import { PolicySyntaxError, parsePolicy } from './parse.ts'

export const policyFields = {
  policy: textField('The policy in HCL or JSON, also as base64', { counts: plainText }),
  rules: textField('Deprecated: policy', { replacedBy: 'policy', counts: plainText }),
}

const nameOf = (call: Call): string => subjectKeyOf(call, 'policy').sk

/** Handles POST sys/policies/acl/:policy_name and sys/policy/:policy_name. The text is stored as written. */
export function writePolicy(call: Call<typeof policyFields>): CallOutcome {
  const name = nameOf(call)
  if (name === ROOT_POLICY_NAME) throw invalidRequestError('the policy root cannot be changed')
  if (!isPolicyName(name)) throw invalidRequestError(POLICY_NAMES_TEXT)
  const given = call.parameters.policy ?? call.parameters.rules ?? ''
  if (given.trim() === '') throw invalidRequestError('policy is required')
  const written = plainText(given)
  try {
    parsePolicy(written)
  } catch (error) {
    throw error instanceof PolicySyntaxError
      ? invalidRequestError(`failed to parse policy: ${error.message}`)
      : error
  }
  return answerAfterChanges([
    replaceItem(subjectKeyOf(call, 'policy'), subjectOf(call, 'policy'), { text: written }),
  ])
}

/** Decodes the text of a policy if it is base64. A policy is never valid base64, because it contains quotes or braces. */
function plainText(given: string): string {
  const bytes = readBase64(given)
  if (bytes && !isUtf8(bytes)) throw invalidRequestError('policy is not UTF-8 text')
  return bytes?.toString('utf8') ?? given
}

function textOf(call: Call): string {
  const stored = subjectOf(call, 'policy')?.data.text ?? builtInPolicies.get(nameOf(call))
  if (stored === undefined) throw new ApiError('not_found')
  return stored
}

/** Handles GET sys/policies/acl/:policy_name. */
export const readPolicy = (call: Call): CallOutcome =>
  answer(dataAnswer({ name: nameOf(call), policy: textOf(call) }))

/** Handles GET sys/policy/:policy_name, the older path. */
export const readPolicyRules = (call: Call): CallOutcome =>
  answer(dataAnswer({ name: nameOf(call), rules: textOf(call) }))

export function deletePolicy(call: Call): CallOutcome {
  const name = nameOf(call)
  if (name === ROOT_POLICY_NAME || name === DEFAULT_POLICY_NAME)
    throw invalidRequestError(`the policy ${name} cannot be deleted`)
  return deleteSubject(call)
}

async function namesOf(call: Call<typeof listFields>): Promise<string[]> {
  const page = readPageParameters(call.parameters)
  const stored = await call.ports.store.list(itemPartitions('policy'), page)
  return selectPage([...new Set([...builtInPolicies.keys(), ...stored.map(item => item.sk)])], page)
}

/** Handles LIST sys/policies/acl. */
export const listPolicies = async (call: Call<typeof listFields>): Promise<CallOutcome> =>
  answer(keyListAnswer(await namesOf(call)))

/** Handles GET sys/policy, the older path. The response of GET sys/policy contains the names twice. */
export async function listPolicyRules(call: Call<typeof listFields>): Promise<CallOutcome> {
  const names = await namesOf(call)
  return answer(dataAnswer({ keys: names, policies: names }))
}
