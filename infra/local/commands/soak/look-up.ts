import { setTimeout } from 'node:timers/promises'
import type { Host } from '../../host/host.ts'

const AT_ONCE = 8
const LOOK_UP_TRIES = 20
const PAUSE_MS = 500
const LOOK_UP_TIMEOUT_MS = 30_000

/** Those of some accessors that a cluster does not know. @throws Error when it does not say */
export async function unknownOf(
  host: Pick<Host, 'base_url'>,
  token: string,
  accessors: readonly string[],
): Promise<string[]> {
  const left = [...accessors]
  const unknown: string[] = []
  const worker = async () => {
    for (let one = left.pop(); one !== undefined; one = left.pop())
      if (!(await isKnown(host, token, one))) unknown.push(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return unknown
}

/** Asks again where the cluster could not answer: it is bad weather. */
async function isKnown({ base_url }: Pick<Host, 'base_url'>, token: string, accessor: string) {
  for (let tries = 1; ; tries++) {
    const answer = await fetch(`${base_url}/auth/token/lookup-accessor`, {
      method: 'POST',
      headers: { 'x-vault-token': token },
      body: JSON.stringify({ accessor }),
      signal: AbortSignal.timeout(LOOK_UP_TIMEOUT_MS),
    }).catch(() => undefined)
    const text = await answer?.text().catch(() => undefined)
    if (answer?.ok) return true
    // the API's words for a token that is not there
    if (text?.includes('invalid accessor')) return false
    if (tries === LOOK_UP_TRIES) throw new Error(`${accessor} cannot be looked up: ${answer?.status} ${text}`)
    await setTimeout(PAUSE_MS)
  }
}
