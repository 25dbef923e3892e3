import type { ClusterStatus } from '../../../shared/set/status.ts'
import { failed, ok } from '../../../shared/values/result.ts'
import { poll } from '../../../shared/values/retrying.ts'
import { clock } from '../../command/set/look.ts'
import type { Host } from '../host/host.ts'
import { drStatusOf } from './dr-client.ts'

const HEARD_WITHIN_SECONDS = 15
const PAUSE_MS = 500

/**
 * Returns the status of a cluster; one that has a primary is given some seconds to hear of it.
 * @param say called with what is waited for
 */
export async function heardOf(
  host: Pick<Host, 'base_url'>,
  say: (text: string) => void,
): Promise<ClusterStatus> {
  let isSaid = false
  const when = { everyMs: PAUSE_MS, until: Date.now() + HEARD_WITHIN_SECONDS * 1000 }
  const heard = await poll(clock, when, async () => {
    const status = await drStatusOf(host)
    if (!status.hasPrimary || status.connection === 'ready') return ok(status)
    if (!isSaid) say(`Waiting for a word of its primary, ${HEARD_WITHIN_SECONDS} s at most …`)
    isSaid = true
    return failed(status)
  })
  return heard.ok ? heard.value : heard.fault
}

/** What a secondary says of itself instead of showing logins. */
export const shownSecondary = (cluster: string, status: ClusterStatus): string =>
  `${cluster} is a DR secondary: it serves no logins, its primary does.
  primary   ${status.hasPrimary ? `${status.primaryAddress}, connection ${status.connection}` : 'none: it follows nobody'}
  state     ${status.state}
  lag       ${toldLag(status)}
`

const toldLag = ({ secondaries, primary }: ClusterStatus): string => {
  const lag = (primary ?? secondaries[0])?.canaryAge_ms
  return lag === undefined ? 'nothing heard yet' : `newest canary ${lag} ms old`
}

/** Position, root and lag of clusters, by their names. */
export const describedStands = (stands: Readonly<Record<string, ClusterStatus>>): string =>
  Object.entries(stands)
    .map(([name, status]) => {
      const { mode, state, position = 0, root } = status
      return `${name}: ${mode}, ${state}\n  position  ${position}\n  root      ${root}\n  lag       ${toldLag(status)}\n`
    })
    .join('\n')
