import { setTimeout } from 'node:timers/promises'
import type { LocalHost } from '../../host/host.ts'

type LoginHost = Pick<LocalHost, 'base_url'>

export interface LoginLoad {
  /** accessors of all logins that a cluster has acknowledged, in the order of the answers */
  acknowledged: readonly string[]
  /** sends all further logins to this cluster */
  sendTo(host: LoginHost): void
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
  first: LoginHost,
  proof: Readonly<Record<string, unknown>>,
  pauseMs = LOGIN_LOAD_PAUSE_MS,
): LoginLoad {
  const acknowledged: string[] = []
  let [host, isOver] = [first, false]
  const workload = async () => {
    while (!isOver) {
      const accessor = await logInOnce(host.base_url, proof)
      if (accessor !== undefined) acknowledged.push(accessor)
      await setTimeout(pauseMs)
    }
  }
  const running = Promise.all(Array.from({ length: WORKLOADS }, workload))
  return {
    acknowledged,
    sendTo: next => {
      host = next
    },
    end: async () => {
      isOver = true
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

/** Returns the accessors that a cluster does not know. */
export async function findUnknownLogins(
  { base_url }: LoginHost,
  token: string,
  accessors: readonly string[],
): Promise<string[]> {
  const unknown: string[] = []
  for (const accessor of accessors) {
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
