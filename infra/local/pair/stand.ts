import type { ClusterStatus } from '../../../shared/set/status.ts'
import { failed, ok } from '../../../shared/values/result.ts'
import { pollWhilePending } from '../../../shared/values/retrying.ts'
import { systemSetClock } from '../../command/set/look.ts'
import type { LocalHost } from '../host/host.ts'
import { readDrStatus } from './dr-client.ts'

const HEARD_WITHIN_SECONDS = 15
const STAND_LOOK_PAUSE_MS = 500

/**
 * Returns the status of a cluster. A cluster with a primary gets some seconds to reach the primary.
 * @param say receives a message on the wait
 */
export async function readStatusWithContact(
  host: Pick<LocalHost, 'base_url'>,
  say: (text: string) => void,
): Promise<ClusterStatus> {
  let isSaid = false
  const when = { everyMs: STAND_LOOK_PAUSE_MS, until: Date.now() + HEARD_WITHIN_SECONDS * 1000 }
  const heard = await pollWhilePending(systemSetClock, when, async () => {
    const status = await readDrStatus(host)
    if (!status.hasPrimary || status.connection === 'ready') return ok(status)
    if (!isSaid)
      say(`Waiting at most ${HEARD_WITHIN_SECONDS} s for contact between this secondary and its primary …`)
    isSaid = true
    return failed(status)
  })
  return heard.ok ? heard.value : heard.fault
}

/** Formats the state of a secondary, which serves no logins. */
export const formatSecondaryStatus = (cluster: string, status: ClusterStatus): string =>
  `${cluster} is a DR secondary: the primary serves the logins.
  primary   ${status.hasPrimary ? `${status.primaryAddress}, connection ${status.connection}` : 'none'}
  state     ${status.state}
  lag       ${toldLag(status)}
`

const toldLag = ({ secondaries, primary }: ClusterStatus): string => {
  const lag = (primary ?? secondaries[0])?.canaryAge_ms
  return lag === undefined ? 'no heartbeat yet' : `the newest canary is ${lag} ms old`
}

/** Formats position, root and lag of clusters by name. */
export const formatPairStatus = (stands: Readonly<Record<string, ClusterStatus>>): string =>
  Object.entries(stands)
    .map(([name, status]) => {
      const { mode, state, position = 0, root } = status
      return `${name}: ${mode}, ${state}\n  position  ${position}\n  root      ${root}\n  lag       ${toldLag(status)}\n`
    })
    .join('\n')
