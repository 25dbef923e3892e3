import { setTimeout } from 'node:timers/promises'
import { type ClusterSeen, type ClusterStatus, isHeard } from '../../../shared/set/status.ts'
import { askFor, askOnce } from '../../command/ask.ts'
import { lookAtNamed } from '../../command/set/look.ts'
import type { Host } from '../host/host.ts'

/** Asking clusters of a set, as an operator does. */

/** As long as the runbooks ask again. */
const WAIT_MS = 600_000
const PAUSE_MS = 250
/** What changes roles answers within half a minute, be it that it takes longer. */
const ANSWER_MS = 90_000

/** Looks again and again. @throws Error that says what did not come about */
export async function until(otherwise: string, probe: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + WAIT_MS
  while (!(await probe())) {
    if (Date.now() > end) throw new Error(`${otherwise}, even after ${WAIT_MS / 1000} s`)
    await setTimeout(PAUSE_MS)
  }
}

const DR = 'sys/replication/dr'

/** Asks a cluster for health and status. @param name as it is called in sentences */
export const lookAtHost = ({ base_url }: Pick<Host, 'base_url'>, name = base_url): Promise<ClusterSeen> =>
  lookAtNamed({ name, base: base_url }, { timeoutMs: ANSWER_MS })

/** The status of a cluster. @throws Error where the answer is no status */
export async function drStatusOf(host: Pick<Host, 'base_url'>): Promise<ClusterStatus> {
  const seen = await lookAtHost(host)
  if (isHeard(seen)) return seen.word.status
  throw new Error(`${host.base_url}: ${seen.silent?.why}`)
}

/** What an answer may hold of what is looked for. */
export interface HostAnswer {
  auth?: { client_token: string } | null
  wrap_info?: { token?: string }
  data?: Readonly<Record<string, unknown>> | null
  warnings?: readonly string[] | null
}

type Asked = Pick<Host, 'base_url' | 'root_token' | 'cluster'>

/** One call below `sys/replication/dr`; see `askHost`. */
export const askReplication = (
  host: Asked,
  path: string,
  body: object | undefined,
  token?: string,
  say?: (text: string) => void,
) => askHost(host, `${DR}/${path}`, body, token, say)

/**
 * One call of the API: a read without a body, else a write. As in the runbooks it is asked again when the answer says so.
 * @param token default: the root token of that cluster
 * @param say told what is asked again, and why
 * @throws Error with the answer, where it is no success
 */
export async function askHost(
  { base_url, root_token, cluster }: Asked,
  path: string,
  body: object | undefined,
  token = root_token,
  say: (text: string) => void = () => undefined,
): Promise<HostAnswer> {
  const asking = body === undefined ? { token } : ({ method: 'POST', body, token } as const)
  const patience = { forMs: WAIT_MS, say, named: `${path} on ${cluster}` }
  return askFor(() => askOnce(base_url, path, asking, { timeoutMs: ANSWER_MS }), patience)
}
