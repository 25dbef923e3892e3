import { logInOnce } from '../../../infra/local/commands/drill/load.ts'
import type { LocalHost } from '../../../infra/local/host/host.ts'

type LoginHost = Pick<LocalHost, 'base_url'>
const TICK_MS = 100
/** Maximum number of logins that wait for an answer. Further logins count as failed. */
const MAX_WAITING = 64

/** Starts clients that log in at a fixed rate, whether or not earlier logins have been answered. */
export function startPacedLoad(first: LoginHost, firstProof: object, perSecond: number) {
  let [host, proof, due, waiting] = [first, firstProof, 0, 0]
  /** `at`: epoch milliseconds of the answer */
  const acknowledged: { accessor: string; at: number }[] = []
  const counts = { logins: 0, failed: 0 }
  const login = async () => {
    waiting += 1
    const accessor = await logInOnce(host.base_url, proof)
    waiting -= 1
    if (accessor === undefined) counts.failed += 1
    else {
      counts.logins += 1
      acknowledged.push({ accessor, at: Date.now() })
    }
  }
  const timer = setInterval(() => {
    for (due += (perSecond * TICK_MS) / 1000; due >= 1; due -= 1)
      if (waiting < MAX_WAITING) void login()
      else counts.failed += 1
  }, TICK_MS)
  return {
    counts,
    turnTo: (next: LoginHost) => {
      host = next
    },
    /** replaces the login proof, because its signature is valid for a quarter of an hour */
    use: (next: object) => {
      proof = next
    },
    /** returns the logins acknowledged since the last call */
    takeAcknowledged: () => acknowledged.splice(0),
    end: async () => {
      clearInterval(timer)
      while (waiting > 0) await new Promise(resolve => setTimeout(resolve, TICK_MS))
    },
  }
}
