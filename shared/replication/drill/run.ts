import type { Drill } from '../../model/drill.ts'
import type { Ports } from '../../ports.ts'
import { put, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'

/** An answer of a cluster's API. */
export interface DrillAnswer {
  status: number
  /** `data` of the answer */
  data: Readonly<Record<string, unknown>>
  /** the error text of an answer that is no success */
  text: string
}

/** Calls the API of a cluster. @throws Error without an answer */
export type AskCluster = (
  to: 'own' | 'peer',
  method: 'GET' | 'POST',
  path: string,
  given?: { body?: object; token?: string },
) => Promise<DrillAnswer>

/** What the steps of a drill need. A function of the service has it, and so has a drill on a laptop. */
export interface Drilling {
  ask: AskCluster
  clock: { now(): number; sleep(ms: number): Promise<unknown> }
  /** epoch milliseconds at which a call of a step has to end */
  deadline: number
  /** a DR operation token for both clusters */
  token(): Promise<string>
  /** name for this cluster at its successor */
  ownName(): Promise<string>
}

/** What a function of the service may reach. */
export interface DrillRun {
  ports: Pick<Ports, 'store' | 'cipher' | 'clock' | 'log' | 'events' | 'entropy' | 'deployment'>
  ask: AskCluster
  /** name of the policy that an administrator wrote for drills */
  policy: string
  /** epoch milliseconds at which this Lambda has to stop */
  deadline: number
}

/** The drill ends here: it was refused before anything changed, or stopped in the present state. */
export class DrillStopped extends Error {
  override readonly name = 'DrillStopped'
}

export async function readDrill({ ports }: Pick<DrillRun, 'ports'>, id: string): Promise<Item<'drill'>> {
  const [item] = await ports.store.read([key('drill')])
  if (item?.data.id !== id) throw new DrillStopped('another drill has begun meanwhile')
  return item
}

/** Notes the progress of a drill. A faster run has noted the same. */
export async function noteDrill(
  { ports }: Pick<DrillRun, 'ports'>,
  before: Item<'drill'> | undefined,
  drill: Drill,
): Promise<void> {
  const readAt = ports.clock.now()
  const [record] = await ports.store.read([key('cluster')])
  if (!record) throw new DrillStopped('this cluster is not initialised')
  const place = key('drill')
  const change = before ? replace(place, before, drill) : put(place, drill)
  if ((await ports.store.commit([change], { record: record.data, readAt })) !== 'done')
    throw new Error('the drill was changed meanwhile')
}
