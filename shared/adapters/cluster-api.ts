import type { AskCluster, DrillMember } from '../replication/drill/run.ts'
import { parseJsonObject } from '../values/json.ts'

/** Milliseconds that a cluster may take to answer. The cluster's gateway gives up after the same time. */
const CLUSTER_ANSWER_TIMEOUT_MS = 30_000

/**
 * Calls the APIs of two clusters at their public addresses.
 * @param bases scheme and host of each cluster
 */
export const createClusterApi =
  (bases: Readonly<Record<DrillMember, string>>): AskCluster =>
  async (to, method, path, { body, token } = {}) => {
    const answer = await fetch(`${bases[to]}/v1/${path}`, {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(CLUSTER_ANSWER_TIMEOUT_MS),
      headers: token ? { 'x-vault-token': token } : {},
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const { status } = answer
    const read = parseJsonObject(await answer.text()) ?? {}
    const errors = Array.isArray(read['errors']) ? read['errors'] : []
    return { status, body: read, refused: answer.ok ? '' : `${status} ${errors.join('; ')}` }
  }
