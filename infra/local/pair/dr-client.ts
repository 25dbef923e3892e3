import type { SetCluster } from '../../../shared/set/run.ts'
import { type ClusterStatus, hasAnswered } from '../../../shared/set/status.ts'
import { failed, ok } from '../../../shared/values/result.ts'
import { pollWhilePending } from '../../../shared/values/retrying.ts'
import {
  CLUSTER_WAIT_LIMIT_MS,
  createSetCluster,
  observeNamedCluster,
  requestCluster,
  systemSetClock,
} from '../../command/set/look.ts'
import type { LocalHost } from '../host/host.ts'

/** Milliseconds between two checks of a condition. */
const DR_RETRY_PAUSE_MS = 250
/**
 * Timeout of requests. A role change answers within half a minute, even if the role change itself continues
 * longer.
 */
export const drClientConnection = { timeoutMs: 90_000 }

/** Waits until a condition holds. @throws Error with `otherwise` after the timeout */
export async function waitUntilTrue(otherwise: string, probe: () => Promise<boolean>): Promise<void> {
  const when = { everyMs: DR_RETRY_PAUSE_MS, until: Date.now() + CLUSTER_WAIT_LIMIT_MS }
  const seen = await pollWhilePending(systemSetClock, when, async () =>
    (await probe()) ? ok() : failed('pending'),
  )
  if (!seen.ok) throw new Error(`${otherwise}, even after ${CLUSTER_WAIT_LIMIT_MS / 1000} s`)
}

/** Requests the status of a cluster. @throws Error if the answer is not a status */
export async function readDrStatus({ base_url }: Pick<LocalHost, 'base_url'>): Promise<ClusterStatus> {
  const seen = await observeNamedCluster({ name: base_url, base: base_url }, drClientConnection)
  if (hasAnswered(seen)) return seen.answer.status
  throw new Error(`${base_url}: ${seen.silent?.why}`)
}

/** The members of an answer that the local pair reads. */
export interface HostApiAnswer {
  auth?: { client_token: string } | null
  wrap_info?: { token?: string }
  data?: Readonly<Record<string, unknown>> | null
  warnings?: readonly string[] | null
}

type Asked = Pick<LocalHost, 'base_url' | 'root_token' | 'cluster'>
type Say = (text: string) => void
const silently: Say = () => undefined

/**
 * Creates the cluster object that the runner of set operations uses. @param say receives messages on retries
 */
export const toSetCluster = (
  { cluster, base_url }: Asked,
  token: string,
  say: Say = silently,
): SetCluster => ({
  ...createSetCluster({ name: cluster, base: base_url }, { connection: drClientConnection, token, say }),
  admittedAs: cluster,
})

/** Sends one request below `sys/replication/dr`; see `requestHost`. */
export const requestReplication = (host: Asked, path: string, body: object | undefined, token?: string) =>
  requestHost(host, `sys/replication/dr/${path}`, body, token)

/**
 * Sends one API request: a read without a body, else a write. Repeats the request when the answer has
 * Retry-After, as the runbooks do.
 * @param token default: the root token of the called cluster
 * @param say receives messages on retries
 * @throws Error with the answer if the request does not succeed
 */
export const requestHost = (
  { base_url: base, root_token, cluster: name }: Asked,
  path: string,
  body: object | undefined,
  token = root_token,
  say = silently,
): Promise<HostApiAnswer> =>
  requestCluster({ name, base }, path, body, { connection: drClientConnection, token, say })
