import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { SetCluster } from '../../../shared/set/run.ts'
import { type ObservedCluster, observeCluster } from '../../../shared/set/status.ts'
import { askFor, askOnce, refusalOf } from '../ask.ts'
import { apiBase, type Connection } from '../connection.ts'
import { Ended } from '../ended.ts'

/** A cluster as a command line names it. */
export interface NamedCluster {
  /** as it was named */
  name: string
  base: string
}

/**
 * Reads the names of clusters: `https://…`, `west=https://…`, or the path of a `cluster.json` of the embedded host.
 * @throws Ended `usage`
 */
export function clusterNamed(text: string): NamedCluster {
  const [, name, address = ''] = /^(?:([\w.-]+)=)?(https?:\/\/.+)$/.exec(text) ?? []
  if (address !== '') return { name: name ?? new URL(apiBase(address)).host, base: apiBase(address) }
  try {
    const { cluster, base_url } = JSON.parse(readFileSync(text, 'utf8')) as Record<string, unknown>
    return { name: String(cluster), base: apiBase(String(base_url)) }
  } catch (error) {
    if (error instanceof Ended) throw error
    throw new Ended('usage', `${text} is neither an address of a cluster nor the file that tells one`)
  }
}

/** Asks a cluster for health and status. @param before the cluster as it was seen earlier */
export const lookAtNamed = (
  { name, base }: NamedCluster,
  connection: Connection,
  before: ObservedCluster = { name },
): Promise<ObservedCluster> =>
  observeCluster(
    before,
    async path => {
      const heard = await askOnce(base, path, {}, connection)
      return { ...heard, refused: heard.status < 300 ? '' : refusalOf(heard) }
    },
    Date.now,
  )

/** How long a refused request is repeated where the answer says when. */
export const PATIENCE_MS = 10 * 60_000
/** The clock of a run. */
export const clock = { now: Date.now, sleep: (ms: number) => setTimeout(ms) }

/** How a program asks the clusters of a set. */
interface Asking {
  connection: Connection
  token: string
  /** called with what is asked again, and why */
  say(text: string): void
}

/** Returns a cluster for the runner. */
export const setClusterAt = (cluster: NamedCluster, { connection, token, say }: Asking): SetCluster => ({
  observe: () => lookAtNamed(cluster, connection),
  write: (path, body) => {
    const asking = { method: 'POST', body, token } as const
    return askFor(() => askOnce(cluster.base, `sys/replication/dr/${path}`, asking, connection), {
      forMs: PATIENCE_MS,
      say,
      named: `${path} on ${cluster.name}`,
    })
  },
})
