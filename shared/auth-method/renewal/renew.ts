import { type Auth, after, type Call, callerOf, type Outcome } from '../../api/call.ts'
import { invalid } from '../../api/errors.ts'
import { duration, text } from '../../api/fields.ts'
import { defaultTtlOf, type Mount, maxTtlOf } from '../../model/mount.ts'
import {
  accessorFor,
  accessorIn,
  BATCH_PREFIX,
  expirySecondOf,
  type LoginRecord,
  type Token,
} from '../../model/token.ts'
import { replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { livingToken } from '../../tokens/descendants.ts'
import { accessorField, requiredToken, tokenByAccessor } from '../../tokens/lookup.ts'
import { authOf } from '../../tokens/mint.ts'
import { lifetime } from '../../tokens/ttl.ts'
import type { Renewal } from './conditions.ts'
import { renewEc2 } from './ec2.ts'
import { renewIam } from './iam.ts'

const increment = { increment: duration('Lifetime from now that is wished for') }

export const renewFields = { ...requiredToken, ...increment }
export const renewSelfFields = { ...increment, token: text('Accepted and ignored', { secret: true }) }
export const renewAccessorFields = { ...accessorField, ...increment }

/** POST auth/token/renew. */
export async function renew(call: Call<typeof renewFields>): Promise<Outcome> {
  const asked = call.given.token ?? ''
  if (asked.startsWith(BATCH_PREFIX)) throw notRenewable()
  const item = await livingToken(await accessorFor(asked, call.ports.cipher), call)
  if (!item) throw invalid('token not found')
  return renewing(call, item, asked, call.given.increment ?? 0)
}

/** POST auth/token/renew-self. */
export async function renewSelf(call: Call<typeof renewSelfFields>): Promise<Outcome> {
  const { item, text: own } = callerOf(call)
  // without an item: a batch token, or one whose last use this is
  if (!item) throw notRenewable()
  return renewing(call, item, own.reveal(), call.given.increment ?? 0)
}

/** POST auth/token/renew-accessor: the answer does not name the token. */
export async function renewAccessor(call: Call<typeof renewAccessorFields>): Promise<Outcome> {
  const item = await tokenByAccessor(call, call.given.accessor ?? '')
  return renewing(call, item, '', call.given.increment ?? 0)
}

const notRenewable = () => invalid('lease is not renewable')

/** Renews a living token. @see docs/spec/tokens.md#renewal */
async function renewing(call: Call, item: Item<'token'>, shownText: string, wish: number): Promise<Outcome> {
  const token = item.data
  if (!token.renewable) throw notRenewable()
  const mount = originOf(call, token)
  const limits = token.login && mount ? await renewLogin(call, mount, token.login) : ofToken(token)
  // AWS may have been asked for seconds since the request came
  const now = call.ports.clock.now()
  const granted = lifetime(
    {
      increment: wish,
      ttl: limits.ttl,
      period: limits.period,
      methodMax: limits.methodMax,
      explicitMax: token.explicitMaxTtl,
    },
    { default: defaultTtlOf(mount ?? SYSTEM), max: maxTtlOf(mount ?? SYSTEM) },
    token.createdAt,
    now,
  )
  if (!granted.ok) throw invalid(granted.fault.text)
  const renewed: Token = { ...token, ttl: granted.value.ttl, renewedAt: now }
  const expires = expirySecondOf(renewed)
  return after(
    [
      replace(key('token', accessorIn(token)), item, renewed, expires === undefined ? {} : { expires }),
      ...limits.changes,
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

/** Tokens that no login made keep what they were made with. */
const ofToken = (token: Readonly<Token>): Renewal => ({
  ttl: token.creationTtl,
  methodMax: 0,
  period: token.period,
  changes: [],
})

async function authAnswer(call: Call, token: Token, shownText: string): Promise<Auth> {
  const { entity } = token
  const [alias] = entity
    ? await call.ports.store.read([key('alias', entity.mount, entity.alias)])
    : [undefined]
  return authOf(token, shownText, token.meta, alias?.data.policies ?? [])
}

/**
 * Checks again what a login stands on: the role as it is now, the instance, the principal's binding.
 * @throws ApiError `permission_denied` with the reason for the audit log; `busy` or `provider_failed`
 * @see docs/spec/tokens.md#renewal
 */
export const renewLogin = (call: Call, mount: Mount, login: LoginRecord): Promise<Renewal> =>
  login.authType === 'ec2' ? renewEc2(call, mount, login) : renewIam(call, mount, login)
