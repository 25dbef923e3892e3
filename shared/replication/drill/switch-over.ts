import type { Measured } from '../../model/drill.ts'
import { type DrillAnswer, type DrillRun, DrillStopped } from './run.ts'
import { drillToken } from './token.ts'

const DR = 'sys/replication/dr'
/** Milliseconds between two looks at which cluster serves, and between two requests that have to wait. */
const LOOK_MS = 250
const PAUSE_MS = 1000
/** Milliseconds for which a promotion is repeated that goes on by itself. */
const SWITCH_TIMEOUT_MS = 5 * 60_000

export type Side = 'own' | 'peer'
const otherSide = (side: Side): Side => (side === 'own' ? 'peer' : 'own')

/** Status of replication of a cluster. @throws DrillStopped where it tells none */
export async function statusAt({ ask }: DrillRun, side: Side): Promise<DrillAnswer['data']> {
  const { status, data, text } = await ask(side, 'GET', `${DR}/status`)
  if (status !== 200) throw new DrillStopped(`${DR}/status of ${side} answers ${status}: ${text}`)
  return data
}

/** A request that has to succeed. @throws DrillStopped with what was answered, Error where it may be repeated */
async function askFor(
  { ask }: DrillRun,
  side: Side,
  path: string,
  body: object,
  token?: string,
): Promise<DrillAnswer['data']> {
  const answer = await ask(side, 'POST', `${DR}/${path}`, { body, ...(token ? { token } : {}) })
  if (answer.status < 300) return answer.data
  const said = `${path} on ${side} answers ${answer.status}: ${answer.text}`
  if (answer.status === 503) throw new Error(said)
  throw new DrillStopped(said)
}

/**
 * Promotes a secondary without force: it refuses, or is handed everything. Does nothing if an earlier attempt has promoted
 * it.
 * @returns milliseconds in which no cluster served; null: an earlier attempt measured them
 */
export async function switchTo(run: DrillRun, to: Side): Promise<Measured['unserved']> {
  const { clock } = run.ports
  if ((await statusAt(run, to))['mode'] === 'primary') return null
  const body = { dr_operation_token: await drillToken(run) }
  const end = Math.min(clock.now() + SWITCH_TIMEOUT_MS, run.deadline)
  const watch = watchServing(run)
  try {
    for (;;)
      try {
        await askFor(run, to, 'secondary/promote', body)
        break
      } catch (error) {
        if (error instanceof DrillStopped || clock.now() >= end) throw error
        await clock.sleep(PAUSE_MS)
      }
  } finally {
    watch.end()
  }
  const unserved = await watch.seen
  if ((await statusAt(run, otherSide(to)))['mode'] === 'primary')
    throw new DrillStopped('both clusters say that they are primary')
  return unserved
}

/** Watches which cluster serves until it is told to end, and looks once more then. @returns the longest time without one */
function watchServing({ ask, ports: { clock } }: DrillRun): { end(): void; seen: Promise<number> } {
  let ended = false
  const serves = (side: Side) =>
    ask(side, 'GET', 'sys/health').then(
      ({ status }) => status === 200,
      () => false,
    )
  const look = async (): Promise<number> => {
    let [served, longest] = [clock.now(), 0]
    for (;;) {
      const last = ended
      const [own, peer] = await Promise.all([serves('own'), serves('peer')])
      const now = clock.now()
      if (own || peer) {
        longest = Math.max(longest, now - served)
        served = now
      }
      if (last) return Math.max(longest, now - served)
      await clock.sleep(LOOK_MS)
    }
  }
  return {
    end: () => {
      ended = true
    },
    seen: look(),
  }
}

/**
 * Makes a former primary follow its successor, as the runbook does: a key, and a token for that key. Does nothing
 * if it follows already.
 * @param name its name at the successor
 */
export async function followBack(run: DrillRun, side: Side, name: string): Promise<void> {
  const { known_primary_cluster_addrs: known } = await statusAt(run, side)
  if (Array.isArray(known) && known.length > 0) return
  const token = await drillToken(run)
  const to = otherSide(side)
  const { secondary_public_key } = await askFor(run, side, 'secondary/generate-public-key', {}, token)
  const wanted = { id: name, secondary_public_key, replace: true }
  const made = await askFor(run, to, 'primary/secondary-token', wanted, token)
  await askFor(run, side, 'secondary/update-primary', { dr_operation_token: token, token: made['token'] })
}

/** Whether a secondary says that it could take over. */
export async function couldTakeOver(run: DrillRun, side: Side): Promise<DrillAnswer['data']> {
  const body = { dr_operation_token: await drillToken(run) }
  return askFor(run, side, 'secondary/readiness', body)
}

/**
 * Commits that a former primary had and its successor lacks, since a time in epoch milliseconds; undefined while it is still
 * comparing.
 */
export async function lostSince(
  { ask, ...run }: DrillRun,
  side: Side,
  since: number,
): Promise<number | undefined> {
  const token = await drillToken({ ask, ...run })
  const answer = await ask(side, 'GET', `${DR}/divergence?limit=1000`, { token })
  if (answer.status !== 200)
    throw new DrillStopped(`divergence of ${side} answers ${answer.status}: ${answer.text}`)
  if (answer.data['complete'] === false) return undefined
  const lost = (answer.data['lost'] ?? []) as readonly { time: string }[]
  return lost.filter(({ time }) => Date.parse(time) >= since).length
}
