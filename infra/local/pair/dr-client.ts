import type { SetCluster } from '../../../shared/set/run.ts'
import { type ClusterStatus, hasAnswered } from '../../../shared/set/status.ts'
import { failed, ok } from '../../../shared/values/result.ts'
import { poll } from '../../../shared/values/retrying.ts'
import { requestUntilAccepted, sendRequest } from '../../command/ask.ts'
import { clock, createSetCluster, observeNamed, PATIENCE_MS } from '../../command/set/look.ts'
import type { Host } from '../host/host.ts'

/** Asking clusters of a set, as an operator does. */

const PAUSE_MS = 250
/** A change of roles answers within half a minute, also where it takes longer. */
export const connection = { timeoutMs: 90_000 }

/** Looks again and again. @throws Error that says what did not come about */
export async function until(otherwise: string, probe: () => Promise<boolean>): Promise<void> {
  const when = { everyMs: PAUSE_MS, until: Date.now() + PATIENCE_MS }
  const seen = await poll(clock, when, async () => ((await probe()) ? ok() : failed('pending')))
  if (!seen.ok) throw new Error(`${otherwise}, even after ${PATIENCE_MS / 1000} s`)
}

/** The status of a cluster. @throws Error where the answer is no status */
export async function drStatusOf({ base_url }: Pick<Host, 'base_url'>): Promise<ClusterStatus> {
  const seen = await observeNamed({ name: base_url, base: base_url }, connection)
  if (hasAnswered(seen)) return seen.answer.status
  throw new Error(`${base_url}: ${seen.silent?.why}`)
}

/** What an answer may hold of what is looked for. */
export interface HostAnswer {
  auth?: { client_token: string } | null
  wrap_info?: { token?: string }
  data?: Readonly<Record<string, unknown>> | null
  warnings?: readonly string[] | null
}

type Asked = Pick<Host, 'base_url' | 'root_token' | 'cluster'>
type Say = (text: string) => void
const silently: Say = () => undefined

/** A cluster for the runner. @param say called with what is asked again, and why */
export const setClusterOf = (
  { cluster, base_url }: Asked,
  token: string,
  say: Say = silently,
): SetCluster => ({
  ...createSetCluster({ name: cluster, base: base_url }, { connection, token, say }),
  admittedAs: cluster,
})

/** One call below `sys/replication/dr`; see `askHost`. */
export const askReplication = (
  host: Asked,
  path: string,
  body: object | undefined,
  token?: string,
  say?: Say,
) => askHost(host, `sys/replication/dr/${path}`, body, token, say)

/**
 * One call of the API: a read without a body, else a write. As in the runbooks it is asked again when the answer says so.
 * @param token default: the root token of that cluster
 * @param say called with what is asked again, and why
 * @throws Error with the answer, where it is no success
 */
export async function askHost(
  { base_url, root_token, cluster }: Asked,
  path: string,
  body: object | undefined,
  token = root_token,
  say = silently,
): Promise<HostAnswer> {
  const asking = body === undefined ? { token } : ({ method: 'POST', body, token } as const)
  const patience = { timeoutMs: PATIENCE_MS, say, label: `${path} on ${cluster}` }
  return requestUntilAccepted(() => sendRequest(base_url, path, asking, connection), patience)
}
