import { setTimeout } from 'node:timers/promises'
import type { Host } from '../host/host.ts'
import { type DrStatus, drStatusOf } from './dr-client.ts'

/** Where a cluster of a set stands, as its status says. */
export interface Stand {
  mode: string
  state: string
  /** its journal, or its tree, is not whole yet */
  isBuilding: boolean
  /** as a gRPC channel's; empty for a primary */
  connection: string
  /** address of the primary; empty: it is one itself, or knows none */
  primary: string
  /** of a primary: where it has secondaries look for it; empty: where it was asked */
  address: string
  position: number
  root: string
  /** milliseconds; undefined: nothing has been heard of the other */
  lag: number | undefined
}

export async function standOf(host: Pick<Host, 'base_url'>): Promise<Stand> {
  return standIn(await drStatusOf(host))
}

function standIn(status: DrStatus): Stand {
  const peers = (status['secondaries'] ?? status['primaries'] ?? []) as readonly Record<string, string>[]
  const age = peers[0]?.['replication_primary_canary_age_ms']
  const known = status['known_primary_cluster_addrs'] as readonly string[] | undefined
  return {
    mode: String(status['mode']),
    state: String(status['state'] ?? ''),
    isBuilding: status['reindex_in_progress'] === true,
    connection: String(status['connection_state'] ?? ''),
    primary: known?.[0] ?? '',
    address: String(status['primary_cluster_addr'] ?? ''),
    position: Number(status['last_dr_wal'] ?? status['last_remote_wal']),
    root: String(status['merkle_root'] ?? ''),
    lag: age === undefined ? undefined : Number(age),
  }
}

const HEARD_WITHIN_SECONDS = 15
const PAUSE_MS = 500

/**
 * Where a cluster stands; one that has a primary is given some seconds to hear of it.
 * @param say told what is waited for
 */
export async function heardOf(host: Pick<Host, 'base_url'>, say: (text: string) => void): Promise<Stand> {
  const end = Date.now() + HEARD_WITHIN_SECONDS * 1000
  for (let told = false; ; told = true) {
    const stand = await standOf(host)
    const isWaiting = stand.primary !== '' && stand.connection !== 'ready'
    if (!isWaiting || Date.now() > end) return stand
    if (!told) say(`Waiting for a word of its primary, ${HEARD_WITHIN_SECONDS} s at most …`)
    await setTimeout(PAUSE_MS)
  }
}

/** What a secondary says of itself instead of showing logins. */
export const shownSecondary = (cluster: string, { state, connection, primary, lag }: Stand): string =>
  `${cluster} is a DR secondary: it serves no logins, its primary does.
  primary   ${primary === '' ? 'none: it follows nobody' : `${primary}, connection ${connection}`}
  state     ${state}
  lag       ${toldLag(lag)}
`

const toldLag = (lag: number | undefined): string =>
  lag === undefined ? 'nothing heard yet' : `newest canary ${lag} ms old`

/** Position, root and lag of clusters, by their names. */
export const describedStands = (stands: Readonly<Record<string, Stand>>): string =>
  Object.entries(stands)
    .map(
      ([name, { mode, state, position, root, lag }]) =>
        `${name}: ${mode}, ${state}\n  position  ${position}\n  root      ${root}\n  lag       ${toldLag(lag)}\n`,
    )
    .join('\n')
