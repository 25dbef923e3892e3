import { type Call, type CallOutcome, noContentAnswer } from '../../api/call.ts'
import { boolField, textField } from '../../api/fields.ts'
import { auditRevocation, makeRevocationChanges } from '../../link/admin/secondaries.ts'
import { CONFLICT_RESULT, ok, type Result } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { formatTime } from '../../values/time.ts'
import { secondariesChangingError } from '../operation/refusals.ts'
import { checkRoleTransition } from '../operation/transitions.ts'
import { findRevocationTarget, type RevocationTarget, readKnownClusters } from './revocation-target.ts'
import { rotateKeyring } from './rotate.ts'

export const revokeSecondaryFields = {
  id: textField('Name of an admission or of a cluster, or UUID of a cluster', { required: true }),
  retire: boolField(
    'Also rotate the keyring, and end all batch tokens and prepared DR operation tokens made so far',
  ),
  force: boolField('Revoke the UUID in `id` even if this cluster does not know it'),
}

const REVOKE_TRIES = 5
const REVOKE_PAUSE_MS = 20

/**
 * Runs the first step of revoke-secondary. After the revocation every call that the cluster signs is rejected, and
 * the cluster's name is free. A name or id without a cluster is rejected. A repeated revocation changes nothing and
 * returns the time of the first revocation. The journal contains the revocation, so clusters that are promoted
 * later know it; a commit to an ended journal fails.
 */
export async function revokeRequestedCluster(
  call: Call<typeof revokeSecondaryFields>,
): Promise<RevocationTarget> {
  const { parameters, ports, now, request } = call
  const { id = '', force = false } = parameters
  const cluster = call.cluster
  checkRoleTransition('primary/revoke-secondary', cluster.record)
  let isNoted = false
  const pause = (tried: number) => ports.clock.sleep(REVOKE_PAUSE_MS * 2 ** tried)
  const found = await retryOnConflict(
    { tries: REVOKE_TRIES, pause },
    async (): Promise<Result<RevocationTarget, 'conflict'>> => {
      const known = await readKnownClusters(cluster.record, ports.store)
      const target = findRevocationTarget(id, known, force)
      if (target.is === 'revoked') return ok(target)
      if (!isNoted) await auditRevocation(target.revoking, request.id, cluster.record, ports)
      isNoted = true
      const changes = makeRevocationChanges(target.revoking, known, { at: now, as: cluster.record })
      return (await ports.store.commit(changes, cluster)) === 'done' ? ok(target) : CONFLICT_RESULT
    },
  )
  if (!found.ok) throw secondariesChangingError()
  return found.value
}

/**
 * Handles POST sys/replication/dr/primary/revoke-secondary after the revocation: rotates the keyring if `retire` is
 * set, and warns of access that the revocation does not end.
 */
export async function revokeSecondary(
  call: Call<typeof revokeSecondaryFields>,
  target: RevocationTarget,
): Promise<CallOutcome> {
  const { retire = false } = call.parameters
  const warnings = describe(target, call.parameters.id ?? '')
  if (!retire) return { answer: noContentAnswer(clusterOf(target) ? [...warnings, KEEPS] : warnings) }
  // the rotation follows the revocation, because the cluster could fetch the new term until it is revoked
  return rotateKeyring(call, true, warnings)
}

const clusterOf = (target: RevocationTarget): string | undefined =>
  target.is === 'live' ? target.revoking.cluster : target.cluster

/** Returns warnings: that the target was revoked before, and which other clusters have the name. */
function describe(target: RevocationTarget, nameOrId: string): string[] {
  if (target.is === 'revoked')
    return [`${nameOrId} was already revoked at ${formatTime(target.at)}; that revocation stays in force`]
  return target.namesakes.map(
    id =>
      `only an unused activation token was revoked; the cluster ${id}, which is also named ${nameOrId}, is not revoked: to revoke that cluster, give its id`,
  )
}

const KEEPS =
  'the revoked cluster keeps its data and its keys: the revoked cluster can decrypt data of existing key terms, and make batch tokens of key terms that have no signing key (signer); POST sys/rotate with retire=true ends these batch tokens; the runbook of a stolen cluster lists other secrets to renew'
