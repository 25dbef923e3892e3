import {
  type AskAws,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  callerOf,
  type RequestPhases,
  type ResponseAuth,
} from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { durationField, textField } from '../../api/fields.ts'
import { defaultTtlOfMount, type Mount, maxTtlOfMount } from '../../model/mount.ts'
import {
  accessorOfToken,
  accessorOfTokenText,
  BATCH_TOKEN_PREFIX,
  type LoginRecord,
  type Token,
  tokenExpirySecond,
} from '../../model/token.ts'
import { replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { readLiveToken } from '../../tokens/descendants.ts'
import { extendRecord } from '../../tokens/instance-mark.ts'
import { accessorField, findTokenByAccessor, requiredToken } from '../../tokens/lookup.ts'
import { buildResponseAuth } from '../../tokens/mint.ts'
import { computeTokenLifetime } from '../../tokens/ttl.ts'
import type { RenewalInput } from './conditions.ts'
import { checkEc2Renewal } from './ec2.ts'
import { checkIamRenewal } from './iam.ts'

const increment = { increment: durationField('Requested lifetime from now') }

export const renewFields = { ...requiredToken, ...increment }
export const renewSelfFields = { ...increment, token: textField('Accepted and ignored', { secret: true }) }
export const renewAccessorFields = { ...accessorField, ...increment }

type RenewalCall = Call<typeof renewFields & typeof renewAccessorFields>

/** Finds the token to renew, and the token text for the response. */
type Find = (call: RenewalCall) => Promise<{ item: Item<'token'>; shownText: string }>

/** The items that a renewal has read. */
interface Gathered {
  item: Item<'token'>
  shownText: string
  /** mount that created the token */
  mount: Mount | undefined
}

/**
 * Builds the phases of a renewal, which reads once: after AWS has answered, the renewal reads nothing again. The
 * commit of a renewal fails if the token or the access-list entry has changed. A changed role or configuration
 * applies from the next renewal on.
 * @see docs/spec/tokens.md#renewal
 */
const renewalOf = (find: Find): RequestPhases<RenewalCall, undefined, Gathered, RenewalInput> => ({
  gather: async call => {
    const found = await find(call)
    if (!found.item.data.renewable) throw notRenewable()
    return { ...found, mount: originOf(call, found.item.data) }
  },
  ask: async (call, { item: { data: token }, mount }, ask) =>
    token.login && mount ? renewLogin(call, mount, token.login, ask) : limitsOf(token),
  decide: extend,
})

/** Handles POST auth/token/renew. */
export const renewPhases = renewalOf(async call => {
  const shownText = call.parameters.token ?? ''
  if (shownText.startsWith(BATCH_TOKEN_PREFIX)) throw notRenewable()
  const item = await readLiveToken(await accessorOfTokenText(shownText, call.ports.cipher), call)
  if (!item) throw invalidRequestError('token not found')
  return { item, shownText }
})

/** Handles POST auth/token/renew-self. */
export const renewSelfPhases = renewalOf(async call => {
  const { item, text: own } = callerOf(call)
  // the token's item is missing for a batch token, and for a token whose last use is this request
  if (!item) throw notRenewable()
  return { item, shownText: own.reveal() }
})

/** Handles POST auth/token/renew-accessor. The response to `renew-accessor` does not contain the token. */
export const renewAccessorPhases = renewalOf(async call => {
  const { accessor = '' } = call.parameters
  return { item: await findTokenByAccessor(call, accessor), shownText: '' }
})

const notRenewable = () => invalidRequestError('lease is not renewable')

/** Sets the token's TTL to the time that its limits allow from now on. */
async function extend(
  call: RenewalCall,
  { item, shownText, mount }: Gathered,
  limits: RenewalInput,
): Promise<CallOutcome> {
  const token = item.data
  // the calls to AWS may have taken seconds since the request arrived
  const now = call.ports.clock.now()
  const granted = computeTokenLifetime(
    {
      increment: call.parameters.increment ?? 0,
      ttl: limits.ttl,
      period: limits.period,
      methodMax: limits.methodMax,
      explicitMax: token.explicitMaxTtl,
    },
    { default: defaultTtlOfMount(mount ?? SYSTEM), max: maxTtlOfMount(mount ?? SYSTEM) },
    token.createdAt,
    now,
  )
  if (!granted.ok) throw invalidRequestError(granted.fault.text)
  const renewed: Token = { ...token, ttl: granted.value.ttl, renewedAt: now }
  const expires = tokenExpirySecond(renewed)
  return answerAfterChanges(
    [
      replaceItem(
        key('token', accessorOfToken(token)),
        item,
        renewed,
        expires === undefined ? {} : { expires },
      ),
      ...limits.changes,
      ...(await extendRecord(renewed, call.ports)),
    ],
    {
      kind: 'auth',
      auth: await authAnswer(call, renewed, shownText),
      warnings: granted.value.warnings,
    },
  )
}

const SYSTEM = { defaultLeaseTtl: 0, maxLeaseTtl: 0 }

const originOf = ({ mounts }: Call, token: Readonly<Token>): Mount | undefined =>
  mounts.mounts.find(mount => mount.accessor === token.mount)

/** Returns the limits of a token that no login created: the limits with which it was created. */
const limitsOf = (token: Readonly<Token>): RenewalInput => ({
  ttl: token.creationTtl,
  methodMax: 0,
  period: token.period,
  changes: [],
})

async function authAnswer(call: Call, token: Token, shownText: string): Promise<ResponseAuth> {
  const { entity } = token
  const [alias] = entity
    ? await call.ports.store.read([key('alias', entity.mount, entity.alias)])
    : [undefined]
  return buildResponseAuth(token, shownText, token.meta, alias?.data.policies ?? [])
}

/**
 * Checks the conditions of a login again: the role's current settings, the instance and the principal's binding.
 * @throws ApiError `permission_denied` with the reason for the audit log; `busy` or `provider_failed`
 * @see docs/spec/tokens.md#renewal
 */
export async function renewLogin(
  call: Call,
  mount: Mount,
  login: LoginRecord,
  ask: AskAws,
): Promise<RenewalInput> {
  // only tokens of such logins need this code
  if (login.authType === 'jwt') return (await import('./jwt.ts')).checkJwtRenewal(call, mount, login)
  return login.authType === 'ec2'
    ? checkEc2Renewal(call, mount, login, ask)
    : checkIamRenewal(call, mount, login, ask)
}
