import { type Asking, exchange, type Heard } from '../command/exchange.ts'
import { type MemberStanding, memberStandingOf } from './order.ts'

/** Milliseconds for an answer: changes of role take the longest. */
const ANSWER_TIMEOUT_MS = 60_000

/**
 * Sends a request to a cluster, and nowhere else, for it may have an administrator's token.
 * @throws Error where nobody answers, and where the answer leads elsewhere
 */
export async function send(address: string, path: string, asking: Asking = {}): Promise<Heard> {
  const url = new URL(`${address}/v1/${path}`)
  const { location, ...heard } = await exchange(url, asking, { timeoutMs: ANSWER_TIMEOUT_MS })
  if (location !== undefined && heard.status >= 300)
    throw new Error(`${url.origin} sends its clients elsewhere, which is not followed`)
  return heard
}

/** The data of a cluster's status. */
export async function memberStatusOf(address: string): Promise<Record<string, unknown>> {
  const { body } = await send(address, 'sys/replication/dr/status')
  const data = body['data']
  return typeof data === 'object' && data !== null ? { ...data } : {}
}

/** What a cluster is: it is asked for its health, and a secondary for its status, too. */
export async function look(address: string): Promise<MemberStanding> {
  const health = await send(address, 'sys/health').catch(() => undefined)
  if (!health) return 'absent'
  const { status, body } = health
  const state = status === 472 ? (await memberStatusOf(address))['state'] : undefined
  return memberStandingOf({ status, mode: body['replication_dr_mode'] }, state)
}
