import type { DrillRecord } from '../../model/drill.ts'
import type { Ports } from '../../ports.ts'
import type { ClusterReply } from '../../set/status.ts'
import { putItem, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'

/** The clusters of a drill. `own` is the primary when the drill begins and ends. */
export type DrillMember = 'own' | 'peer'

/** Calls the API of a cluster. @throws Error without an answer */
export type AskCluster = (
  to: DrillMember,
  method: 'GET' | 'POST',
  path: string,
  options?: { body?: object; token?: string },
) => Promise<ClusterReply>

/**
 * The dependencies of a drill's steps. A Lambda provides these dependencies in production, the embedded drill on a
 * laptop.
 */
export interface DrillDependencies {
  ask: AskCluster
  clock: { now(): number; sleep(ms: number): Promise<unknown> }
  /** `deadline`: epoch milliseconds by which every call of a step has ended */
  deadline: number
  /** `token` returns a DR operation token for both clusters */
  token(): Promise<string>
  /** `ownName` returns the name that the successor uses for this cluster */
  ownName(): Promise<string>
}

/** The dependencies of a drill that runs in a Lambda. */
export interface DrillRun {
  ports: Pick<Ports, 'store' | 'cipher' | 'clock' | 'log' | 'events' | 'entropy' | 'deployment'>
  ask: AskCluster
  /** `policy` is the name of the policy that an administrator wrote for drills */
  policy: string
  /** epoch milliseconds at which this Lambda must stop */
  deadline: number
}

const NOT_MEASURED = { unserved: null, lost: null }

/** Creates the record of a drill that begins now. */
export const createDrillRecord = (id: string, now: number): DrillRecord => ({
  id,
  status: 'running',
  step: 'check',
  startedAt: now,
  stepAt: now,
  peer: '',
  there: NOT_MEASURED,
  back: NOT_MEASURED,
})

/** The drill stops: a cluster refused it before anything changed, or an operator must decide. */
export class DrillStopped extends Error {
  override readonly name = 'DrillStopped'
}

export async function readDrill({ ports }: DrillRun, id: string): Promise<Item<'drill'>> {
  const [item] = await ports.store.read([key('drill')])
  if (item?.data.id !== id) throw new DrillStopped('another drill has begun meanwhile')
  return item
}

/** Stores the progress of a drill. Throws if another run has stored its progress first. */
export async function noteDrillProgress(
  { ports }: DrillRun,
  before: Item<'drill'> | undefined,
  drill: DrillRecord,
): Promise<void> {
  const readAt = ports.clock.now()
  const [record] = await ports.store.read([key('cluster')])
  if (!record) throw new DrillStopped('this cluster is not initialised')
  const place = key('drill')
  const change = before ? replaceItem(place, before, drill) : putItem(place, drill)
  if ((await ports.store.commit([change], { record: record.data, readAt })) !== 'done')
    throw new Error('the drill was changed meanwhile')
}
