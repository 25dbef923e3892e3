import type { LocalHost } from '../../host/host.ts'

/** A login that a cluster has acknowledged. */
export interface AcknowledgedLogin {
  accessor: string
  cluster: string
}

export interface LoginLoad {
  /** all logins so far, in the order of their answers */
  acknowledged: readonly AcknowledgedLogin[]
  /** sends all further logins to this cluster */
  sendTo(host: Pick<LocalHost, 'base_url' | 'cluster'>): void
  /** number of failed logins, because no cluster served, or another cluster served */
  failed(): number
  end(): Promise<void>
}

const WORKLOADS = 4
const LOGIN_LOAD_PAUSE_MS = 20
/** Timeout of a login in milliseconds. */
const LOGIN_TIMEOUT_MS = 60_000

/**
 * Starts workloads that log in repeatedly. Each workload sends one login after the other.
 * @param proof parameters of an iam login that may be repeated
 * @param pauseMs milliseconds between two logins of a workload
 */
export function startLoginLoad(
  first: Pick<LocalHost, 'base_url' | 'cluster'>,
  proof: Readonly<Record<string, unknown>>,
  pauseMs = LOGIN_LOAD_PAUSE_MS,
): LoginLoad {
  const acknowledged: AcknowledgedLogin[] = []
  let [host, failures, ended] = [first, 0, false]
  const workload = async () => {
    while (!ended) {
      const { base_url, cluster } = host
      const accessor = await logInOnce(base_url, proof)
      if (accessor === undefined) failures += 1
      else acknowledged.push({ accessor, cluster })
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }
  const running = Promise.all(Array.from({ length: WORKLOADS }, workload))
  return {
    acknowledged,
    sendTo: next => {
      host = next
    },
    failed: () => failures,
    end: async () => {
      ended = true
      await running
    },
  }
}

/** Logs in once. @returns the accessor of the token; undefined if the login failed */
export async function logInOnce(base: string, proof: object): Promise<string | undefined> {
  try {
    const answer = await fetch(`${base}/auth/cloud/login`, {
      method: 'POST',
      body: JSON.stringify(proof),
      signal: AbortSignal.timeout(LOGIN_TIMEOUT_MS),
    })
    const body = (await answer.json()) as { auth?: { accessor?: string } }
    return answer.ok ? body.auth?.accessor : undefined
  } catch {
    return undefined
  }
}

/** Returns the logins that a cluster does not know. */
export async function findUnknownLogins(
  { base_url }: Pick<LocalHost, 'base_url'>,
  token: string,
  logins: readonly AcknowledgedLogin[],
): Promise<string[]> {
  const unknown: string[] = []
  for (const { accessor } of logins) {
    const answer = await fetch(`${base_url}/auth/token/lookup-accessor`, {
      method: 'POST',
      headers: { 'x-vault-token': token },
      body: JSON.stringify({ accessor }),
    })
    await answer.arrayBuffer()
    if (!answer.ok) unknown.push(accessor)
  }
  return unknown
}
