import { type Call, nothing, type Outcome } from '../../api/call.ts'
import { awaitOperation, beginOperation, newOperation } from '../operation/operate.ts'
import { givenUp } from '../operation/refusals.ts'
import { checkTransition } from '../operation/transitions.ts'
import { recordOf } from './record.ts'

/**
 * POST sys/replication/dr/secondary/disable: this cluster leaves its set, and serves clients with its copy; its primary, if
 * it lives, goes on too.
 */
export async function disableSecondary(call: Call): Promise<Outcome> {
  const { ports } = call
  const item = recordOf(call)
  checkTransition('secondary/disable', call.cluster.record)
  const before = await ports.journal.head()
  const whole = before?.unfinishedSync === null && before.mode !== 'syncing'
  const operating = newOperation(ports)
  const update = { form: 'clear', addresses: [] } as const
  await beginOperation(operating, item, { name: 'disable', step: 'find', update }, call)
  // from then on it serves; the caller need not wait for the rest
  const { status, fault } = await awaitOperation(operating.id, ports, ({ step }) => step === 'forget')
  if (status === 'failed') throw givenUp(fault)
  return { answer: nothing(whole ? [LEFT, TWIN] : [LEFT, TWIN, TORN]) }
}

const LEFT =
  'replication is being switched off, with a short interruption: this cluster has forgotten its set, serves clients from now on, and cannot come back to the set without being emptied'
const TWIN =
  'if the primary lives, both hold the same tokens, access lists and credentials of the provider: a token that is revoked on one is valid on the other, an instance may log in to both, and auth/…/config/rotate-root on one takes the key away from the other; revoke tokens and configure credentials of its own here. Batch tokens made from now on are good on this cluster alone'
const TORN =
  'the copy was not complete: a sync was under way, or had not been brought to its end; what this cluster has may be of different moments'
