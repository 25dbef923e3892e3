import { answer, answerAfterChanges, type Call, type CallOutcome, callerOf, dataAnswer } from '../api/call.ts'
import { invalidRequestError } from '../api/errors.ts'
import { text } from '../api/fields.ts'
import { accessorOfHash, generateServiceTokenText, tokenHashOf } from '../model/token.ts'
import { removeIfUnchanged } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { sameSecret } from '../values/secret.ts'
import { printTime } from '../values/time.ts'
import { LONGEST_WRAPPING, wrap } from './wrapping.ts'

export const wrappingField = { token: text('The wrapping token; default: the caller’s', { secret: true }) }

const gone = () => invalidRequestError('wrapping token is not valid or does not exist')

/** Reads the wrapped response of a token. Anyone with the token may get it, once. */
async function wrappedOf(call: Call<typeof wrappingField>): Promise<Item<'wrapped'>> {
  const asked = call.parameters.token || call.bearer?.reveal()
  if (!asked) throw invalidRequestError('token is required')
  const [item] = await call.ports.store.read([key('wrapped', accessorOfHash(tokenHashOf(asked)))])
  if (!item || !sameSecret(item.data.hash, tokenHashOf(asked))) throw gone()
  return item
}

/** Handles POST sys/wrapping/unwrap: returns the original response and deletes it. */
export async function unwrap(call: Call<typeof wrappingField>): Promise<CallOutcome> {
  const item = await wrappedOf(call)
  const body = await call.ports.cipher.decrypt(item, 'response', item.data.response)
  return answerAfterChanges([removeIfUnchanged(item)], { kind: 'unwrapped', body: body.reveal() })
}

/** Handles POST sys/wrapping/lookup: describes the wrapped response without unwrapping it. */
export async function lookupWrapping(call: Call<typeof wrappingField>): Promise<CallOutcome> {
  const { data: wrapped } = await wrappedOf(call)
  return answer(
    dataAnswer({
      creation_path: wrapped.creationPath,
      creation_time: printTime(wrapped.createdAt),
      creation_ttl: wrapped.ttl,
    }),
  )
}

/** Handles POST sys/wrapping/rewrap: stores the response under a new token and invalidates the old token. */
export async function rewrap(call: Call<typeof wrappingField>): Promise<CallOutcome> {
  const item = await wrappedOf(call)
  if (item.data.ttl > LONGEST_WRAPPING)
    throw invalidRequestError('the answer was wrapped for longer than 768h')
  const { cipher, entropy } = call.ports
  const { info, change } = await wrap(
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
  return answerAfterChanges([removeIfUnchanged(item), change], { kind: 'wrapped', info })
}

/** Handles POST sys/wrapping/wrap: wraps the caller's body. The header X-Vault-Wrap-TTL is required. */
export function wrapBody(call: Call): CallOutcome {
  callerOf(call)
  if (call.request.wrapTtl === undefined) throw invalidRequestError('the header X-Vault-Wrap-TTL is required')
  return answer(dataAnswer({ ...call.raw }))
}
