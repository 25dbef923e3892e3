import type { Drill } from '../../model/drill.ts'
import { type Goal, type SeenPair, type Side, type Stage, waits } from '../../set/plan.ts'
import { RunStopped, takeStep } from '../../set/run.ts'
import { type ClusterSeen, isHeard, lookAtCluster } from '../../set/status.ts'
import { ok, PENDING, type Result } from '../../values/result.ts'
import { type DrillAnswer, type Drilling, DrillStopped } from './run.ts'

const DR = 'sys/replication/dr'
/** Milliseconds between two looks at which cluster serves, and between two requests that have to wait. */
const LOOK_MS = 250
const PAUSE_MS = 1000

/** The clusters of a drill: this one hands over and takes over again. */
export type DrillMember = 'own' | 'peer'
const MEMBERS: Readonly<Record<Side, DrillMember>> = { from: 'own', to: 'peer' }
const goals: Readonly<Record<'there' | 'back', Goal>> = {
  there: { kind: 'switch', may: ['promote', 'follow'], waits },
  back: { kind: 'switchBack', may: ['promote', 'follow'], waits },
}

const refusalOf = ({ status, text }: DrillAnswer): string => (status < 300 ? '' : `${status} ${text}`)

/** Looks at both clusters. @throws DrillStopped where one answers as no cluster does, Error where one does not answer */
export async function lookAtBoth({ ask, clock }: Drilling): Promise<SeenPair> {
  const look = async (name: DrillMember): Promise<ClusterSeen> => {
    const seen = await lookAtCluster(
      { name },
      async path => {
        const answer = await ask(name, 'GET', path)
        return { status: answer.status, body: { data: answer.data }, refused: refusalOf(answer) }
      },
      () => clock.now(),
    )
    if (isHeard(seen)) return seen
    const text = `${name}: ${seen.silent?.why}`
    throw seen.silent?.answered === 'oddly' ? new DrillStopped(text) : new Error(text)
  }
  const [from, to] = await Promise.all([look('own'), look('peer')])
  return { from, to }
}

/**
 * Sends a write that has to succeed, and repeats it while the cluster says that it goes on. A promotion is repeated where
 * its answer is lost, too, because the same request joins it.
 * @throws DrillStopped where it is refused, Error where it may be repeated later
 */
async function send(
  { ask, clock, deadline }: Drilling,
  to: DrillMember,
  path: string,
  body: object,
  token: string,
): Promise<DrillAnswer> {
  const end = Math.min(clock.now() + SEND_TIMEOUT_MS, deadline)
  for (;;) {
    const answer = await ask(to, 'POST', `${DR}/${path}`, { body, token }).catch((error: unknown) => {
      if (path === 'secondary/promote' && clock.now() < end) return undefined
      throw error
    })
    if (answer && answer.status < 300) return answer
    const text = `${path} on ${to} answers ${answer && refusalOf(answer)}`
    if (answer && answer.status !== 503) throw new DrillStopped(text)
    if (clock.now() >= end) throw new Error(text)
    await clock.sleep(PAUSE_MS)
  }
}

const SEND_TIMEOUT_MS = 10 * 60_000

/**
 * Goes on with the switch to the peer, or with the way back, up to a stage.
 * @returns the drill with what was measured, once the stage is over; pending: it waits for what goes on by itself
 * @throws DrillStopped where an operator has to decide
 */
export async function changeRoles(
  drilling: Drilling,
  drill: Drill,
  way: 'there' | 'back',
  until: Stage,
): Promise<Result<Partial<Drill>, 'pending'>> {
  const { clock, token } = drilling
  const names = { from: await drilling.ownName(), to: drill.peer }
  let watch: Watch | undefined
  let { unserved } = drill[way]
  const program = {
    goal: goals[way],
    clock,
    operationToken: token,
    look: () => lookAtBoth(drilling),
    ask: async (side: Side, path: string, body: object) => ({
      ...(await send(drilling, MEMBERS[side], path, body, await token())),
    }),
    admittedAs: (side: Side) => names[side],
    before: async (step: { do: string }) => {
      if (step.do === 'promote') watch = watchServing(drilling)
    },
    did: async () => {
      unserved = (await watch?.end()) ?? unserved
      watch = undefined
    },
  }
  try {
    for (;;) {
      const round = await takeStep(program, { begun: true, waiting: { since: drill.stepAt } }, until)
      if (round.kind === 'done') return ok({ [way]: { ...drill[way], unserved } })
      if (round.state.waiting) return PENDING
    }
  } catch (error) {
    throw error instanceof RunStopped ? new DrillStopped(`${error.message}. ${error.where}`) : error
  } finally {
    await watch?.end()
  }
}

interface Watch {
  /** Looks once more. @returns the longest time in milliseconds in which no cluster served */
  end(): Promise<number>
}

function watchServing({ ask, clock }: Drilling): Watch {
  let ended = false
  const serves = (name: DrillMember) =>
    ask(name, 'GET', 'sys/health').then(
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
  const seen = look()
  return {
    end: () => {
      ended = true
      return seen
    },
  }
}

/** What a secondary says of its readiness. */
export async function fetchReadiness(drilling: Drilling, name: DrillMember): Promise<unknown> {
  const token = await drilling.token()
  return (await send(drilling, name, 'secondary/readiness', { dr_operation_token: token }, token)).data
}

/**
 * Commits that a former primary had and its successor lacks, since a time in epoch milliseconds; undefined while it is still
 * comparing.
 */
export async function lostSince(
  { ask, token }: Drilling,
  name: DrillMember,
  since: number,
): Promise<number | undefined> {
  const answer = await ask(name, 'GET', `${DR}/divergence?limit=1000`, { token: await token() })
  if (answer.status !== 200) throw new DrillStopped(`divergence of ${name} answers ${refusalOf(answer)}`)
  if (answer.data['complete'] === false) return undefined
  const lost = (answer.data['lost'] ?? []) as readonly { time: string }[]
  return lost.filter(({ time }) => Date.parse(time) >= since).length
}
