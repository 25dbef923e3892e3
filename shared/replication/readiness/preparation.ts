import type { Call } from '../../api/call.ts'
import { isCurrentOperationToken } from '../../ceremony/generated-token.ts'
import { isRootToken, type Token, tokenEndTime, tokenSecondsLeft } from '../../model/token.ts'
import { permitsRequest } from '../../policies/access.ts'
import { compileAcl } from '../../policies/load.ts'
import type { PromotionPreparation } from '../../set/readiness.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { formatTime } from '../../values/time.ts'

const PROMOTE = 'sys/replication/dr/secondary/promote'
/** Maximum number of policies and token roles that are read. */
const MOST = 500

export async function readPromotionPreparation(call: Call, mode: string): Promise<PromotionPreparation> {
  const { store } = call.ports
  const [policies, roles, [stored]] = await Promise.all([
    store.list(itemPartitions('policy'), { limit: MOST }),
    store.list(itemPartitions('token-role'), { limit: MOST }),
    mode === 'secondary' ? store.read([key('operation-token')]) : [undefined],
  ])
  const able = policies
    .filter(item => permitsRequest(compileAcl([item.sk], [item]), { path: PROMOTE, capability: 'update' }))
    .map(({ sk }) => sk)
  const { record } = call.cluster
  const generated = stored && isCurrentOperationToken(stored.data, record) ? stored.data : undefined
  return {
    generated: generated
      ? { made: formatTime(generated.madeAt), age_seconds: Math.floor((call.now - generated.madeAt) / 1000) }
      : null,
    presented: judgePresentedToken(call),
    roles: roles.filter(role => makesOperators(role, able)).map(({ sk }) => sk),
    policies: able,
  }
}

function judgePresentedToken({ operator, caller, now }: Call): PromotionPreparation['presented'] {
  if (operator === 'generated')
    return { counts: true, why: 'the token was generated from recovery shares', expires: '', seconds_left: 0 }
  if (!caller) return { counts: false, why: 'no token was presented', expires: '', seconds_left: 0 }
  const end = tokenEndTime(caller.token)
  const why = operatorFault(caller.token) || describeMissingRight(caller.rights)
  return {
    counts: why === '',
    why: why || 'the token is a batch token whose policies allow a promotion',
    expires: end === undefined ? '' : formatTime(end),
    seconds_left: tokenSecondsLeft(caller.token, now),
  }
}

/** Returns why a token cannot authorise operations of a secondary; empty if the token can. */
function operatorFault(token: Readonly<Token>): string {
  if (token.type !== 'batch') return 'the token is no batch token'
  if (isRootToken(token)) return 'the token is a root token'
  return token.parent === undefined ? '' : 'the token is not an orphan'
}

const describeMissingRight = (rights: Parameters<typeof permitsRequest>[0]): string =>
  permitsRequest(rights, { path: PROMOTE, capability: 'update' })
    ? ''
    : `the policies of the token do not allow update on ${PROMOTE}`

/** Reports whether a token role makes orphan batch tokens with one of these policies. */
const makesOperators = ({ data }: Item<'token-role'>, able: readonly string[]): boolean =>
  (data.token.type === 'batch' || data.otherwise === 'batch') &&
  data.orphan &&
  data.allowedPolicies.some(name => able.includes(name))
