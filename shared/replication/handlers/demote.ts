import type { Call, Outcome } from '../../api/call.ts'
import { awaitOperation, beginOperation, newOperation } from '../operation/operate.ts'
import { givenUp } from '../operation/refusals.ts'
import { checkTransition } from '../operation/transitions.ts'
import { recordOf } from './record.ts'

/**
 * POST sys/replication/dr/primary/demote: ends the journal of this cluster exactly, and the cluster serves no clients
 * from then on. If another cluster or an earlier call has closed it, the end is returned again.
 */
export async function demotePrimary(call: Call): Promise<Outcome> {
  const { ports } = call
  const item = recordOf(call)
  checkTransition('primary/demote', item.data)
  if (call.cluster.record.mode === 'secondary') return endWithWarning(call, ALREADY)
  const operating = newOperation(ports)
  await beginOperation(operating, item, { name: 'demotion', step: 'close' }, call)
  const { status, fault } = await awaitOperation(operating.id, ports)
  if (status === 'failed') throw givenUp(fault)
  return endWithWarning(call, DEMOTED)
}

const DEMOTED =
  'this cluster has become a DR secondary that follows nobody, with a short interruption: it serves no client any more; promote a secondary that has reached final_wal, and give this cluster its token by POST sys/replication/dr/secondary/update-primary'
const ALREADY =
  'this cluster was demoted already, or has handed over to another one: nothing has changed; give it the token of the new primary by POST sys/replication/dr/secondary/update-primary'

/** What the caller compares with `last_remote_wal` of the secondary that it wants to promote. */
async function endWithWarning({ ports }: Call, warning: string): Promise<Outcome> {
  const { last = 0, epoch = '' } = (await ports.journal.head()) ?? {}
  return { answer: { kind: 'data', data: { final_wal: last, epoch }, warnings: [warning] } }
}
