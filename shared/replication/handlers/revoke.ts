import { type Call, nothing, type Outcome } from '../../api/call.ts'
import { bool, text } from '../../api/fields.ts'
import { noteEvent } from '../../journal/events.ts'
import { revocation } from '../../link/admin/secondaries.ts'
import { wasKept } from '../../model/cluster.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { retrying } from '../../values/retrying.ts'
import { secondariesChanging } from '../operation/refusals.ts'
import { checkTransition } from '../operation/transitions.ts'
import { rotation } from './rotate.ts'

export const revokeFields = {
  id: text('Name that the activation token was made for, or id of a cluster', { required: true }),
  retire: bool(
    'Then rotate the keyring, and end all batch tokens and prepared DR operation tokens made so far',
  ),
}

const REVOKE_TRIES = 5
const PAUSE_MS = 20

/**
 * POST sys/replication/dr/primary/revoke-secondary: nothing that a secondary signs counts from now on, and its name is
 * free again. For an unknown name there is nothing to revoke. The revocation is in the journal, so that clusters that are
 * promoted later know it; a journal that has ended refuses it.
 */
export async function revokeSecondary(call: Call<typeof revokeFields>): Promise<Outcome> {
  const { retire = false } = call.given
  const known = await call.once('revoke', () => revokeOnce(call))
  const [recovery] = await call.ports.store.read([key('recovery-key')])
  const shares = known && recovery && wasKept(recovery.data) ? [SHARES] : []
  if (!retire) return { answer: nothing(known ? [KEEPS, ...shares] : []) }
  // after the revocation, or the revoked cluster would get the new term
  return rotation(call, true, shares)
}

const KEEPS =
  'the revoked cluster keeps what it has: it reads what terms of the keyring made until now encrypted, batch tokens of terms that bear no signature it can make; POST sys/rotate with retire=true ends these; the runbook of a stolen cluster says what else to renew'

/** Of an earlier version the revoked cluster, or a backup of it, has the key that shares are cut from. */
const SHARES =
  'the revoked cluster may know the recovery key, which an earlier version stored, and can make recovery shares, until POST sys/rekey-recovery-key/init and /update have made others'

/** @returns whether there was a cluster to revoke */
async function revokeOnce(call: Call<typeof revokeFields>): Promise<boolean> {
  const { given, ports, now, request } = call
  const { id = '' } = given
  const cluster = call.cluster
  checkTransition('primary/revoke-secondary', cluster.record)
  const pause = (tried: number) => ports.clock.sleep(PAUSE_MS * 2 ** tried)
  const found = await retrying({ tries: REVOKE_TRIES, pause }, async () => {
    const [secondaries, holders] = await Promise.all([
      ports.store.list(partitions('secondary')),
      ports.store.list(partitions('holder')),
    ])
    const changes = revocation(secondaries, holders, id, now, cluster.record)
    if (changes.length === 0) return false
    await call.once('note', () => noteEvent('revocation', request.id, cluster.record, { id }, ports))
    return (await ports.store.commit(changes, cluster)) === 'done' || 'again'
  })
  if (found === 'again') throw secondariesChanging()
  return found
}
