import { answer, type Call, type CallOutcome, callerOf, dataAnswer } from '../api/call.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { textField } from '../api/fields.ts'
import {
  accessorOfTokenText,
  BATCH_TOKEN_PREFIX,
  type Token,
  tokenEndTime,
  tokenEntityId,
  tokenSecondsLeft,
  toSeconds,
} from '../model/token.ts'
import { key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import { secretsEqual } from '../values/secret.ts'
import { formatTime } from '../values/time.ts'
import { decryptBatchTokenText, readBatchToken } from './batch.ts'
import { areTokenAncestorsAlive, isTokenAlive, readLiveToken } from './descendants.ts'
import { isInstanceOfTokenGone } from './instance-mark.ts'
import { showTokenTerms } from './parameters.ts'

export const tokenField = { token: textField('The token', { secret: true }) }
export const requiredToken = { token: textField('The token', { secret: true, required: true }) }
export const accessorField = {
  // the parameter is secret, because clients send tokens in it by mistake
  accessor: textField('Accessor of the token', { required: true, secret: true }),
}

/** The result of a lookup. */
interface Found {
  token: Readonly<Token>
  /** `id` is empty if the response must not show the token */
  id: string
  accessor: string
}

/** Handles POST and GET auth/token/lookup. Without a token parameter the handler looks up the caller's own token. */
export async function lookUpToken(call: Call<typeof tokenField>): Promise<CallOutcome> {
  const caller = callerOf(call)
  const asked = call.parameters.token || caller.text.reveal()
  if (secretsEqual(asked, caller.text.reveal())) return lookUpOwnToken(call)
  return answer(dataAnswer(await shown(call, await findTokenByText(call, asked))))
}

/** Handles GET and POST auth/token/lookup-self. */
export async function lookUpOwnToken(call: Call): Promise<CallOutcome> {
  const { token, item, text: own, accessor } = callerOf(call)
  // the stored token counts this use; a token is deleted with its last use
  const left = item?.data ?? { ...token, numUses: 0 }
  return answer(dataAnswer(await shown(call, { token: left, id: own.reveal(), accessor })))
}

/** Handles POST auth/token/lookup-accessor. The response to `lookup-accessor` does not contain the token. */
export async function lookUpTokenByAccessor(call: Call<typeof accessorField>): Promise<CallOutcome> {
  const item = await findTokenByAccessor(call, call.parameters.accessor ?? '')
  return answer(dataAnswer(await shown(call, { token: item.data, id: '', accessor: item.sk })))
}

/** Returns the stored token of an accessor. @throws ApiError `invalid_request` */
export async function findTokenByAccessor(call: Call, accessor: string) {
  const item = await readLiveToken(accessor, call)
  if (!item) throw invalidRequestError('invalid accessor')
  return { ...item, sk: accessor }
}

/** Returns a hint if the accessor belongs to a wrapping token; else an empty text. */
async function wrappingHint({ ports }: Pick<Call, 'ports'>, accessor: string): Promise<string> {
  const [wrapped] = await ports.store.read([key('wrapped', accessor)])
  if (!wrapped) return ''
  return 'the accessor belongs to a wrapping token: use sys/wrapping/lookup or sys/wrapping/unwrap'
}

/** Finds a token by its text. @throws ApiError `bad_token` */
export async function findTokenByText(call: Call, asked: string): Promise<Found> {
  if (asked.startsWith(BATCH_TOKEN_PREFIX)) {
    const sealed = await decryptBatchTokenText(asked, call.ports.cipher)
    if (!sealed) throw new ApiError('bad_token')
    const [term] = await call.ports.store.read([key('term', sealed.term)])
    const { token } = readBatchToken(sealed, term)
    const isAlive =
      token &&
      isTokenAlive(token, call) &&
      !(await isInstanceOfTokenGone(token, call.ports)) &&
      (await areTokenAncestorsAlive(token, call))
    if (!isAlive) throw new ApiError('bad_token')
    return { token, id: asked, accessor: '' }
  }
  const accessor = await accessorOfTokenText(asked, call.ports.cipher)
  const item = await readLiveToken(accessor, call)
  if (!item) throw new ApiError('bad_token', await wrappingHint(call, accessor))
  return { token: item.data, id: asked, accessor }
}

/** Returns the response form of a token. @see docs/spec/tokens.md#lookup */
async function shown(call: Call, { token, id, accessor }: Found): Promise<Record<string, unknown>> {
  const end = tokenEndTime(token)
  return defined({
    id,
    accessor,
    type: token.type,
    path: token.path,
    display_name: token.displayName,
    policies: token.policies,
    identity_policies: await identityPoliciesOf(call, token),
    meta: token.meta,
    entity_id: tokenEntityId(token),
    orphan: token.parent === undefined,
    renewable: token.renewable,
    creation_time: toSeconds(token.createdAt),
    issue_time: formatTime(token.createdAt),
    creation_ttl: token.creationTtl,
    ttl: tokenSecondsLeft(token, call.now),
    expire_time: end === undefined ? null : formatTime(end),
    ...showTokenTerms(token),
    role: token.role || undefined,
    ...(token.renewedAt === undefined
      ? {}
      : { last_renewal: formatTime(token.renewedAt), last_renewal_time: toSeconds(token.renewedAt) }),
  })
}

async function identityPoliciesOf(call: Call, { entity }: Readonly<Token>): Promise<readonly string[]> {
  if (!entity) return []
  const [alias] = await call.ports.store.read([key('alias', entity.mount, entity.alias)])
  return alias?.data.policies ?? []
}
