import { type ClusterSeen, lookAtCluster } from '../../shared/set/status.ts'
import { refusalOf } from '../command/ask.ts'
import { type Asking, exchange, type Heard } from '../command/exchange.ts'
import type { MemberPlan } from './settings.ts'

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

/** Asks a cluster for health and status. */
export const lookAtMember = ({ name, address }: Pick<MemberPlan, 'name' | 'address'>): Promise<ClusterSeen> =>
  lookAtCluster(
    { name },
    async path => {
      const heard = await send(address, path)
      return { ...heard, refused: heard.status < 300 ? '' : refusalOf(heard) }
    },
    Date.now,
  )
