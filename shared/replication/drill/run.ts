import type { DrillRecord } from '../../model/drill.ts'
import type { Ports } from '../../ports.ts'
import { putItem, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'

/** An answer of a cluster's API. */
export interface DrillApiAnswer {
  status: number
  /** the field `data` of the answer */
  data: Readonly<Record<string, unknown>>
  /** the error text of a failed request */
  text: string
}

/** Calls the API of a cluster. @throws Error without an answer */
export type AskCluster = (
  to: 'own' | 'peer',
  method: 'GET' | 'POST',
  path: string,
  options?: { body?: object; token?: string },
) => Promise<DrillApiAnswer>

/** The dependencies of a drill's steps. A Lambda provides them, and so does the drill on a laptop. */
export interface DrillDependencies {
  ask: AskCluster
  clock: { now(): number; sleep(ms: number): Promise<unknown> }
  /** epoch milliseconds: every call of a step ends before */
  deadline: number
  /** returns a DR operation token for both clusters */
  token(): Promise<string>
  /** returns the name of this cluster at its successor */
  ownName(): Promise<string>
}

/** The dependencies of a drill that runs in a Lambda. */
export interface DrillRun {
  ports: Pick<Ports, 'store' | 'cipher' | 'clock' | 'log' | 'events' | 'entropy' | 'deployment'>
  ask: AskCluster
  /** name of the policy that an administrator wrote for drills */
  policy: string
  /** epoch milliseconds at which this Lambda must stop */
  deadline: number
}

/** The drill stops: it was refused before anything changed, or an operator must decide. */
export class DrillStopped extends Error {
  override readonly name = 'DrillStopped'
}

export async function readDrill({ ports }: Pick<DrillRun, 'ports'>, id: string): Promise<Item<'drill'>> {
  const [item] = await ports.store.read([key('drill')])
  if (item?.data.id !== id) throw new DrillStopped('another drill has begun meanwhile')
  return item
}

/** Stores the progress of a drill. If another run has stored it first, throws. */
export async function noteDrillProgress(
  { ports }: Pick<DrillRun, 'ports'>,
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
