import type { ObservedPair } from '../../../shared/set/plan.ts'
import { readReadiness } from '../../../shared/set/readiness.ts'
import { dataOf, hasAnswered } from '../../../shared/set/status.ts'
import { announceTakeOver, describePossibleLoss } from '../../../shared/set/take-over.ts'
import type { ApiConnection } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import { type NamedCluster, requestCluster } from './look.ts'

interface TakeOverPorts {
  connection: ApiConnection
  token: string
  say(text: string): void
}

/**
 * Requests the readiness, and describes what a take-over by force leaves out and may lose.
 * @throws CommandEnded `refused` if the primary still answers the secondary, or the promotion would be refused
 */
export async function announceLossyTakeOver(
  { from, to: { name, answer } }: ObservedPair,
  to: NamedCluster,
  ports: TakeOverPorts,
): Promise<string[]> {
  const body = { dr_operation_token: ports.token }
  const asked = await requestCluster(to, 'sys/replication/dr/secondary/readiness', body, ports)
  const { fields } = readReadiness(dataOf(asked))
  if (fields.lag?.primary === 'answers')
    throw new CommandEnded(
      'refused',
      `${from.name} still answers ${name}. Run the switch without --accept-loss, where both clusters can be reached`,
    )
  const plan = fields.promotion_with_force
  if (!answer || !plan?.goes_through)
    throw new CommandEnded(
      'refused',
      `${name} refuses a promotion by force: ${plan?.refused || 'no reason given'}`,
    )
  const { leftOut, loss } = announceTakeOver(fields, answer.status, { force: true, age_ms: 0 })
  return [
    `2. Take over: ${name} is promoted by force. No switch is planned, and writes may be lost.`,
    ...leftOut.map(text => `   left out: ${text}`),
    `   ! ${loss}`,
  ]
}

/** Describes a take-over with loss, if only a secondary answers; otherwise empty. */
export function hintOfLossyTakeOver({ from, to }: ObservedPair): string {
  if (hasAnswered(from) || !hasAnswered(to) || to.answer.status.mode !== 'secondary') return ''
  const { at, status } = to.answer
  const last = status.primary?.lastHeartbeatAt
  const loss = describePossibleLoss(status, last === undefined ? undefined : at - last, 0)
  return ` If ${from.name} is lost, --accept-loss ${to.name} takes over. ${loss}`
}
