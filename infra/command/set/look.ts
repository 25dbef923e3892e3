import { readFileSync } from 'node:fs'
import { askOnce, refusalOf } from '../ask.ts'
import { apiBase, type Connection } from '../connection.ts'
import { Ended } from '../ended.ts'
import { type ClusterTold, statusFault, wordsIn } from './status-shape.ts'

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

/** What a cluster said of itself. Times are epoch milliseconds. */
export interface Word {
  at: number
  /** status of `sys/health`: 200 serves */
  health: number
  /** the cluster's own name */
  cluster: string
  status: ClusterTold
}

/** A cluster with the last word that it gave, and why there is none since. */
export interface ClusterSeen extends NamedCluster {
  word?: Word
  /** absent: it has just answered */
  silent?: string
}

/** Asks a cluster for health and status. @param before what was seen of it earlier: its word is kept where it is silent */
export async function lookAtCluster(
  named: NamedCluster,
  connection: Connection,
  before?: ClusterSeen,
): Promise<ClusterSeen> {
  try {
    const [health, status] = await Promise.all([
      askOnce(named.base, 'sys/health', {}, connection),
      askOnce(named.base, 'sys/replication/dr/status', {}, connection),
    ])
    const data = status.body['data'] as ClusterTold
    const fault = status.status === 200 ? statusFault(data) : refusalOf(status)
    if (fault !== '') return { ...named, ...lastOf(before), silent: `sys/replication/dr/status: ${fault}` }
    const cluster = wordsIn(health.body, 'cluster_name') || named.name
    return { ...named, word: { at: Date.now(), health: health.status, cluster, status: { ...data } } }
  } catch (error) {
    if (!(error instanceof Ended)) throw error
    return { ...named, ...lastOf(before), silent: error.message }
  }
}

const lastOf = (before: ClusterSeen | undefined) => (before?.word ? { word: before.word } : {})
