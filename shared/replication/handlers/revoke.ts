import { type Call, noContent, type Outcome } from '../../api/call.ts'
import { bool, text } from '../../api/fields.ts'
import { noteRevocation, revocation } from '../../link/admin/secondaries.ts'
import { CONFLICT, ok, type Result } from '../../values/result.ts'
import { retrying } from '../../values/retrying.ts'
import { printTime } from '../../values/time.ts'
import { secondariesChanging } from '../operation/refusals.ts'
import { checkTransition } from '../operation/transitions.ts'
import { findTarget, type RevocationTarget, readKnownClusters } from './revocation-target.ts'
import { rotateKeyring } from './rotate.ts'

export const revokeFields = {
  id: text('Name of an admission or of a cluster, or UUID of a cluster', { required: true }),
  retire: bool(
    'Then rotate the keyring, and end all batch tokens and prepared DR operation tokens made so far',
  ),
  force: bool('Revoke the UUID in `id` also if this cluster has never heard of it'),
}

const REVOKE_TRIES = 5
const REVOKE_PAUSE_MS = 20

/**
 * The first step of revoke-secondary: nothing that the cluster signs counts from now on, and its name is free again. A name
 * or an id that leads to no cluster is refused. A repeated revocation changes nothing and reports the time of the first one.
 * The revocation is in the journal, so that clusters that are promoted later know it; a journal that has ended refuses it.
 */
export async function revokeTarget(call: Call<typeof revokeFields>): Promise<RevocationTarget> {
  const { parameters, ports, now, request } = call
  const { id = '', force = false } = parameters
  const cluster = call.cluster
  checkTransition('primary/revoke-secondary', cluster.record)
  let isNoted = false
  const pause = (tried: number) => ports.clock.sleep(REVOKE_PAUSE_MS * 2 ** tried)
  const found = await retrying(
    { tries: REVOKE_TRIES, pause },
    async (): Promise<Result<RevocationTarget, 'conflict'>> => {
      const known = await readKnownClusters(cluster.record, ports.store)
      const target = findTarget(id, known, force)
      if (target.is === 'revoked') return ok(target)
      if (!isNoted) await noteRevocation(target.revoking, request.id, cluster.record, ports)
      isNoted = true
      const changes = revocation(target.revoking, known, { at: now, as: cluster.record })
      return (await ports.store.commit(changes, cluster)) === 'done' ? ok(target) : CONFLICT
    },
  )
  if (!found.ok) throw secondariesChanging()
  return found.value
}

/**
 * POST sys/replication/dr/primary/revoke-secondary, once the cluster is revoked: rotates the keyring where that is asked
 * for, and says what the revocation does not end.
 */
export async function revokeSecondary(
  call: Call<typeof revokeFields>,
  target: RevocationTarget,
): Promise<Outcome> {
  const { retire = false } = call.parameters
  const warnings = describe(target, call.parameters.id ?? '')
  if (!retire) return { answer: noContent(clusterOf(target) ? [...warnings, KEEPS] : warnings) }
  // after the revocation, or the revoked cluster would get the new term
  return rotateKeyring(call, true, warnings)
}

const clusterOf = (target: RevocationTarget): string | undefined =>
  target.is === 'live' ? target.revoking.cluster : target.cluster

/** Warnings of what an operator may not expect: that it was revoked before, and whom else the name could mean. */
function describe(target: RevocationTarget, given: string): string[] {
  if (target.is === 'revoked')
    return [`${given} was revoked already, at ${printTime(target.at)}; that revocation holds`]
  return target.namesakes.map(
    id =>
      `the cluster ${id} has the name ${given} too, and is not revoked: only an unused activation token was; give its id to revoke it`,
  )
}

const KEEPS =
  'the revoked cluster keeps what it has: it reads what terms of the keyring made until now encrypted, batch tokens of terms that bear no signature it can make; POST sys/rotate with retire=true ends these; the runbook of a stolen cluster says what else to renew'
