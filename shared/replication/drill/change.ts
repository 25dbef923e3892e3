import type { DrillRecord } from '../../model/drill.ts'
import { lossReportShape } from '../../set/loss.ts'
import { type RoleChangeStage, type SetGoal, WAIT_LIMITS_MS } from '../../set/plan.ts'
import { RunStopped, type SetCluster, type SetRunInput, takeSetStep } from '../../set/run.ts'
import { type AnsweringCluster, dataOf, hasAnswered, observeCluster } from '../../set/status.ts'
import { isObject } from '../../values/json.ts'
import { readShape } from '../../values/read-shape.ts'
import { ok, PENDING_RESULT, type Result } from '../../values/result.ts'
import { type DrillDependencies, type DrillMember, DrillStopped } from './run.ts'
import { type ServingInterruptions, watchServing } from './watch.ts'

const DR = 'sys/replication/dr'
/** Milliseconds between two looks at which cluster serves, and between two tries of a write. */
const DRILL_LOOK_PAUSE_MS = 250
const DRILL_SEND_PAUSE_MS = 1000

/** The switch to the peer, and the switch back. */
export type DrillWay = 'there' | 'back'
const may = ['promote', 'follow'] as const
const goals: Readonly<Record<DrillWay, SetGoal>> = {
  there: { kind: 'switch', allowedActions: may, waits: WAIT_LIMITS_MS },
  back: { kind: 'switchBack', allowedActions: may, waits: WAIT_LIMITS_MS },
}

/** Reads the status of a cluster. @throws DrillStopped if the answer is not a cluster's, Error if no answer arrives */
export async function readDrillMember(
  { ask, clock }: DrillDependencies,
  name: DrillMember,
): Promise<AnsweringCluster> {
  const seen = await observeCluster(
    { name },
    path => ask(name, 'GET', path),
    () => clock.now(),
  )
  if (hasAnswered(seen)) return seen
  const text = `${name}: ${seen.silent?.why}`
  throw seen.silent?.answered === 'oddly' ? new DrillStopped(text) : new Error(text)
}

/**
 * Sends a write that must succeed for the drill to continue. The drill repeats the write while the cluster answers
 * 503. The drill also repeats a promotion without an answer, because the same request joins the running promotion.
 * @returns the body of the answer
 * @throws DrillStopped if the cluster refuses the write, Error if the drill may repeat it later
 */
async function send(
  drilling: DrillDependencies,
  to: DrillMember,
  path: string,
  body: object,
): Promise<Readonly<Record<string, unknown>>> {
  const { ask, clock, deadline } = drilling
  const end = Math.min(clock.now() + SEND_TIMEOUT_MS, deadline)
  const options = { body, token: await drilling.token() }
  for (;;) {
    const answer = await ask(to, 'POST', `${DR}/${path}`, options).catch((error: unknown) => {
      if (path === 'secondary/promote' && clock.now() < end) return undefined
      throw error
    })
    if (answer?.refused === '') return isObject(answer.body) ? answer.body : {}
    const text = `${path} on ${to} answers ${answer?.refused}`
    if (answer && answer.status !== 503) throw new DrillStopped(text)
    if (clock.now() >= end) throw new Error(text)
    await clock.sleep(DRILL_SEND_PAUSE_MS)
  }
}

const SEND_TIMEOUT_MS = 10 * 60_000

/**
 * Continues the switch to the peer, or the switch back, up to a stage.
 * @returns the measured values of the drill once the stage is complete; pending while a cluster works by itself
 * @throws DrillStopped if only an operator can continue the drill
 */
export async function changeDrillRoles(
  drilling: DrillDependencies,
  drill: DrillRecord,
  way: DrillWay,
  until: RoleChangeStage,
): Promise<Result<Partial<DrillRecord>, 'pending'>> {
  const { clock } = drilling
  const clusterOf = (member: DrillMember, admittedAs: string): SetCluster => ({
    observe: () => readDrillMember(drilling, member),
    write: (path, body) => send(drilling, member, path, body),
    admittedAs,
  })
  let endWatch: (() => Promise<ServingInterruptions>) | undefined
  let { unserved } = drill[way]
  const program: SetRunInput = {
    goal: goals[way],
    clusters: { from: clusterOf('own', await drilling.ownName()), to: clusterOf('peer', drill.peer) },
    clock,
    operationToken: drilling.token,
    beforeStep: async step => {
      if (step.do === 'promote')
        endWatch = watchServing(() => findServing(drilling), clock, DRILL_LOOK_PAUSE_MS)
    },
    afterStep: async () => {
      unserved = (await endWatch?.())?.longestGap ?? unserved
    },
  }
  try {
    for (;;) {
      const round = await takeSetStep(program, { begun: true, waiting: { since: drill.stepAt } }, until)
      if (round.kind === 'done') return ok({ [way]: { ...drill[way], unserved } })
      if (round.state.waiting) return PENDING_RESULT
    }
  } catch (error) {
    throw error instanceof RunStopped ? new DrillStopped(error.message) : error
  } finally {
    await endWatch?.()
  }
}

const findServing = async ({ ask }: DrillDependencies): Promise<DrillMember[]> => {
  const members = ['own', 'peer'] as const
  const healthy = await Promise.all(
    members.map(name =>
      ask(name, 'GET', 'sys/health').then(
        ({ status }) => status === 200,
        () => false,
      ),
    ),
  )
  return members.filter((_, index) => healthy[index])
}

/** Returns the readiness of a secondary. */
export async function fetchReadiness(drilling: DrillDependencies, name: DrillMember): Promise<unknown> {
  const body = { dr_operation_token: await drilling.token() }
  return dataOf(await send(drilling, name, 'secondary/readiness', body))
}

/**
 * Counts the commits since `since` (epoch milliseconds) that a former primary had and its successor lacks; undefined while
 * the comparison runs.
 */
export async function countLostCommits(
  { ask, token }: DrillDependencies,
  name: DrillMember,
  since: number,
): Promise<number | undefined> {
  const answer = await ask(name, 'GET', `${DR}/divergence?limit=1000`, { token: await token() })
  if (answer.refused) throw new DrillStopped(`the divergence request to ${name} failed: ${answer.refused}`)
  const { complete, lost = [] } = readShape(lossReportShape, dataOf(answer.body)).fields
  return complete === false ? undefined : lost.filter(({ time }) => Date.parse(time) >= since).length
}
