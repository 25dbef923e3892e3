import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { SetCluster } from '../../../shared/set/run.ts'
import { type ClusterReply, type ObservedCluster, observeCluster } from '../../../shared/set/status.ts'
import { describeRefusal, requestUntilAccepted, sendRequest } from '../ask.ts'
import { type ApiConnection, parseApiBase } from '../connection.ts'
import { CommandEnded } from '../ended.ts'

/** A cluster in the form in which the command line names it. */
export interface NamedCluster {
  /** name for messages */
  name: string
  base: string
}

/**
 * Parses the name of a cluster: `https://…`, `west=https://…`, or the path of a `cluster.json` of the embedded host.
 * @throws CommandEnded `usage`
 */
export function parseNamedCluster(text: string): NamedCluster {
  const [, name, address = ''] = /^(?:([\w.-]+)=)?(https?:\/\/.+)$/.exec(text) ?? []
  if (address !== '')
    return { name: name ?? new URL(parseApiBase(address)).host, base: parseApiBase(address) }
  try {
    const { cluster, base_url } = JSON.parse(readFileSync(text, 'utf8')) as Record<string, unknown>
    return { name: String(cluster), base: parseApiBase(String(base_url)) }
  } catch (error) {
    if (error instanceof CommandEnded) throw error
    throw new CommandEnded('usage', `${text} must be the address of a cluster or the path of a cluster.json`)
  }
}

/** Sends one request to a cluster. @throws see `sendRequest` */
export async function askCluster(...asked: Parameters<typeof sendRequest>): Promise<ClusterReply> {
  const response = await sendRequest(...asked)
  return { ...response, refused: response.status < 300 ? '' : describeRefusal(response) }
}

/** Requests a cluster's health and status. @param before the cluster as observed earlier */
export const observeNamedCluster = (
  { name, base }: NamedCluster,
  connection: ApiConnection,
  before: ObservedCluster = { name },
): Promise<ObservedCluster> =>
  observeCluster(before, path => askCluster(base, path, {}, connection), Date.now)

/** Longest time in milliseconds for which a refused request is repeated. */
export const CLUSTER_WAIT_LIMIT_MS = 10 * 60_000
/** The clock of a run. */
export const systemSetClock = { now: Date.now, sleep: (ms: number) => setTimeout(ms) }

/** Options with which a program reaches the clusters of a set. */
interface SetClusterOptions {
  connection: ApiConnection
  token: string
  /** receives messages on repeated requests */
  say(text: string): void
}

/**
 * Sends one request to a cluster: a read without a body, else a write. Repeats the request when the answer has
 * Retry-After, as the runbooks do.
 * @returns the body of the answer
 * @throws CommandEnded see `requestUntilAccepted`. The message names the request by `label`
 */
export function requestCluster(
  { name, base }: NamedCluster,
  path: string,
  body: object | undefined,
  { connection, token, say }: SetClusterOptions,
  label = path,
) {
  const asking = body === undefined ? { token } : ({ method: 'POST', body, token } as const)
  return requestUntilAccepted(() => sendRequest(base, path, asking, connection), {
    timeoutMs: CLUSTER_WAIT_LIMIT_MS,
    say,
    label: `${label} on ${name}`,
  })
}

/** Creates the cluster object that the runner of set operations uses. */
export const createSetCluster = (cluster: NamedCluster, options: SetClusterOptions): SetCluster => ({
  observe: () => observeNamedCluster(cluster, options.connection),
  write: (path, body) => requestCluster(cluster, `sys/replication/dr/${path}`, body, options, path),
})
