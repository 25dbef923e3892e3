import { primaryOf } from '../../model/cluster.ts'
import type { Drill } from '../../model/drill.ts'
import { key } from '../../storage/kinds.ts'
import { type Readiness, readinessFault } from './readiness-fault.ts'
import { type DrillRun, DrillStopped } from './run.ts'
import { couldTakeOver, statusAt } from './switch-over.ts'
import { drillToken } from './token.ts'

/**
 * Whether the set may be switched for a drill: both clusters say that they are ready, and mean each other.
 * @returns the name of the other cluster here
 * @throws DrillStopped
 */
export async function checkBoth(run: DrillRun): Promise<Drill['peer']> {
  const { ports, ask } = run
  const [record] = await ports.store.read([key('cluster')])
  if (record?.data.mode !== 'primary')
    throw new DrillStopped('this cluster is no primary: the one that is rehearses')
  const peer = await statusAt(run, 'peer')
  if (peer['mode'] !== 'secondary' || peer['cluster_id'] !== record.data.set)
    throw new DrillStopped(`peer: it is no secondary of this set, but ${String(peer['mode'])}`)
  const token = await drillToken(run)
  const own = await ask('own', 'GET', 'sys/replication/dr/readiness', { token })
  if (own.status !== 200) throw new DrillStopped(`own readiness answers ${own.status}: ${own.text}`)
  const other = await couldTakeOver(run, 'peer')
  const fault = readinessFault('own', own.data) || readinessFault('peer', other)
  if (fault) throw new DrillStopped(fault)
  // a silent primary is no obstacle of a promotion, but a drill must not take it for lost
  if ((other as Readiness).lag?.primary !== 'answers')
    throw new DrillStopped('peer: it does not reach this cluster')
  return String(peer['secondary_id'] ?? '')
}

/** A name for this cluster at its successor. */
export async function ownName({ ports }: DrillRun): Promise<string> {
  const [record] = await ports.store.read([key('cluster')])
  return (record && (primaryOf(record.data)?.secondaryId || record.data.name)) || ports.deployment.clusterName
}
