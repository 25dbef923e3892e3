import { answer, answerAfterChanges, type Call, type CallOutcome, callerOf, dataAnswer } from '../api/call.ts'
import { invalidRequestError } from '../api/errors.ts'
import { textField } from '../api/fields.ts'
import { accessorOfHash, generateServiceTokenText, tokenHashOf } from '../model/token.ts'
import { removeItemIfUnchanged } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { secretsEqual } from '../values/secret.ts'
import { formatTime } from '../values/time.ts'
import { MAX_WRAPPING_SECONDS, wrapResponse } from './wrapping.ts'

export const wrappingTokenField = {
  token: textField('The wrapping token; default: the caller’s', { secret: true }),
}

const gone = () => invalidRequestError('wrapping token is not valid or does not exist')

/** Reads the wrapped response of a token. Anyone with the wrapping token may get the response, once. */
async function wrappedOf(call: Call<typeof wrappingTokenField>): Promise<Item<'wrapped'>> {
  const asked = call.parameters.token || call.bearer?.reveal()
  if (!asked) throw invalidRequestError('token is required')
  const [item] = await call.ports.store.read([key('wrapped', accessorOfHash(tokenHashOf(asked)))])
  if (!item || !secretsEqual(item.data.hash, tokenHashOf(asked))) throw gone()
  return item
}

/** Handles POST sys/wrapping/unwrap: returns the original response and deletes it. */
export async function unwrapResponse(call: Call<typeof wrappingTokenField>): Promise<CallOutcome> {
  const item = await wrappedOf(call)
  const body = await call.ports.cipher.decrypt(item, 'response', item.data.response)
  return answerAfterChanges([removeItemIfUnchanged(item)], { kind: 'unwrapped', body: body.reveal() })
}

/** Handles POST sys/wrapping/lookup: describes the wrapped response without unwrapping it. */
export async function lookUpWrappingToken(call: Call<typeof wrappingTokenField>): Promise<CallOutcome> {
  const { data: wrapped } = await wrappedOf(call)
  return answer(
    dataAnswer({
      creation_path: wrapped.creationPath,
      creation_time: formatTime(wrapped.createdAt),
      creation_ttl: wrapped.ttl,
    }),
  )
}

/** Handles POST sys/wrapping/rewrap: stores the response under a new token and invalidates the old token. */
export async function rewrapResponse(call: Call<typeof wrappingTokenField>): Promise<CallOutcome> {
  const item = await wrappedOf(call)
  if (item.data.ttl > MAX_WRAPPING_SECONDS)
    throw invalidRequestError('the answer was wrapped for longer than 768h')
  const { cipher, entropy } = call.ports
  const { info, change } = await wrapResponse(
    {
      response: (await cipher.decrypt(item, 'response', item.data.response)).reveal(),
      path: item.data.creationPath,
      mount: item.data.mount,
      ttl: item.data.ttl,
      now: call.now,
      wrappedAccessor: item.data.wrappedAccessor,
      text: generateServiceTokenText(entropy.bytes),
    },
    cipher,
  )
  return answerAfterChanges([removeItemIfUnchanged(item), change], { kind: 'wrapped', info })
}

/** Handles POST sys/wrapping/wrap: wraps the caller's body. The header X-Vault-Wrap-TTL is required. */
export function wrapRequestBody(call: Call): CallOutcome {
  callerOf(call)
  if (call.request.wrapTtl === undefined) throw invalidRequestError('the header X-Vault-Wrap-TTL is required')
  return answer(dataAnswer({ ...call.raw }))
}
