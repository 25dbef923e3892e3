import { answer, type Call, type CallOutcome, callerOf, dataAnswer } from '../api/call.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { listField, textField } from '../api/fields.ts'
import type { Acl } from '../model/acl.ts'
import type { Token } from '../model/token.ts'
import { capabilitiesOnPath } from '../policies/access.ts'
import { accessorField, findTokenByAccessor, findTokenByText, requiredToken } from '../tokens/lookup.ts'
import { loadTokenRights } from '../tokens/rights.ts'
import { secretsEqual } from '../values/secret.ts'

/** Maximum number of paths in a request, and of bytes per path. */
const MOST_PATHS = 1000
const LONGEST_PATH = 1024

export const capabilityFields = {
  paths: listField(`Paths to return capabilities for, up to ${MOST_PATHS} of ${LONGEST_PATH} bytes`),
  path: textField('Deprecated: paths', { replacedBy: 'paths' }),
}
export const tokenCapabilityFields = { ...requiredToken, ...capabilityFields }
export const accessorCapabilityFields = { ...accessorField, ...capabilityFields }

type CapabilityCall = Call<typeof capabilityFields>

/** Handles POST sys/capabilities-self. */
export const showOwnCapabilities = (call: CapabilityCall): CallOutcome =>
  answerCapabilities(call, callerOf(call).rights)

/** Handles POST sys/capabilities, for the token in the body. */
export async function showTokenCapabilities(call: Call<typeof tokenCapabilityFields>): Promise<CallOutcome> {
  const { text: own, rights } = callerOf(call)
  const asked = call.parameters.token ?? ''
  // if this is the caller's own token, its last use may just have deleted it
  if (secretsEqual(asked, own.reveal())) return answerCapabilities(call, rights)
  return answerCapabilities(call, await rightsOf(call, (await foundToken(call, asked)).token))
}

/** Handles POST sys/capabilities-accessor, for the token of an accessor. */
export async function showAccessorCapabilities(
  call: Call<typeof accessorCapabilityFields>,
): Promise<CallOutcome> {
  const item = await findTokenByAccessor(call, call.parameters.accessor ?? '')
  return answerCapabilities(call, await rightsOf(call, item.data))
}

const invalidToken = () => invalidRequestError('invalid token')

// an invalid token in the body is a parameter error, because the caller's own token is valid
const foundToken = (call: Call, asked: string) =>
  findTokenByText(call, asked).catch((error: unknown) => {
    throw error instanceof ApiError && error.code === 'bad_token' ? invalidToken() : error
  })

async function rightsOf(call: Call, token: Readonly<Token>): Promise<Acl> {
  const standing = await loadTokenRights(token, call)
  if (!standing.ok) throw invalidToken()
  return standing.value.rights
}

function answerCapabilities({ parameters }: CapabilityCall, rights: Acl): CallOutcome {
  const paths = [...(parameters.paths ?? []), ...(parameters.path ? [parameters.path] : [])]
  if (paths.length === 0) throw invalidRequestError('paths is required')
  if (paths.length > MOST_PATHS || paths.some(path => Buffer.byteLength(path) > LONGEST_PATH))
    throw invalidRequestError(`paths may hold up to ${MOST_PATHS} paths of up to ${LONGEST_PATH} bytes`)
  const found = paths
    .map(path => path.replace(/^\//, ''))
    .map((path): [string, string[]] => [path, capabilitiesOnPath(rights, path)])
  const [first] = found
  return answer(
    dataAnswer(Object.fromEntries(first && found.length === 1 ? [first, ['capabilities', first[1]]] : found)),
  )
}
