import { readFileSync } from 'node:fs'
import { type ClusterSeen, lookAtCluster } from '../../../shared/set/status.ts'
import { askOnce, refusalOf } from '../ask.ts'
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
  before: ClusterSeen = { name },
): Promise<ClusterSeen> =>
  lookAtCluster(
    before,
    async path => {
      const heard = await askOnce(base, path, {}, connection)
      return { ...heard, refused: heard.status < 300 ? '' : refusalOf(heard) }
    },
    Date.now,
  )
