import type { Host } from '../../host/host.ts'
import { loginAt } from '../drill/load.ts'

type LoginHost = Pick<Host, 'base_url' | 'cluster'>
type Proof = Readonly<Record<string, unknown>>

/** A login that was answered well. */
interface AcknowledgedAt {
  accessor: string
  /** epoch milliseconds of the answer */
  at: number
}

/** Workloads that log in at their times, whether or not earlier logins have been answered. */
export interface PacedLoad {
  turnTo(host: LoginHost): void
  /** signatures of proofs count for some minutes only */
  use(proof: Proof): void
  /** how many logins were answered well, and how many were not */
  counts(): { logins: number; failed: number }
  /** logins acknowledged since this was asked last */
  taken(): AcknowledgedAt[]
  end(): Promise<void>
}

const TICK_MS = 100
/** Logins without an answer, after which no new ones begin: they count as failed. */
const MOST_WAITING = 64

export function startPacedLoad(first: LoginHost, given: Proof, perSecond: number): PacedLoad {
  let [host, proof, due, waiting] = [first, given, 0, 0]
  let acknowledged: AcknowledgedAt[] = []
  const counts = { logins: 0, failed: 0 }
  const login = async () => {
    const { base_url } = host
    waiting += 1
    const accessor = await loginAt(base_url, proof)
    waiting -= 1
    if (accessor === undefined) counts.failed += 1
    else {
      counts.logins += 1
      acknowledged.push({ accessor, at: Date.now() })
    }
  }
  const timer = setInterval(() => {
    for (due += (perSecond * TICK_MS) / 1000; due >= 1; due -= 1)
      if (waiting < MOST_WAITING) void login()
      else counts.failed += 1
  }, TICK_MS)
  return {
    turnTo: next => {
      host = next
    },
    use: next => {
      proof = next
    },
    counts: () => counts,
    taken: () => {
      const some = acknowledged
      acknowledged = []
      return some
    },
    end: async () => {
      clearInterval(timer)
      while (waiting > 0) await new Promise(resolve => setTimeout(resolve, TICK_MS))
    },
  }
}
