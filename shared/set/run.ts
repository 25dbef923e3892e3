import { defined } from '../values/defined.ts'
import {
  type ActingSetStep,
  decideNextStep,
  type ObservedPair,
  type PairSide,
  type RoleChangeStage,
  roleChangeStages,
  type SetGoal,
  type SetStep,
} from './plan.ts'
import { findReadinessFault } from './readiness.ts'
import { dataOf, hasAnswered, type ObservedCluster } from './status.ts'

type Body = Readonly<Record<string, unknown>>

/** A cluster of a set, with the functions by which a program calls it. */
export interface SetCluster {
  observe(): Promise<ObservedCluster>
  /**
   * Sends a write below `sys/replication/dr`. The function repeats the write when the answer has Retry-After.
   * @returns the body of a successful answer to the write
   * @throws if the cluster refuses the write
   */
  write(path: string, body: object): Promise<Body>
  /** `admittedAs`: name for the cluster's admission as a secondary; absent: its own name */
  admittedAs?: string
  /** `address` at which secondaries reach the cluster while it is the primary; absent: the address that it reports */
  address?: string
}

/** Input of a run. */
export interface SetRunInput {
  goal: SetGoal
  clusters: Readonly<Record<PairSide, SetCluster>>
  clock: { now(): number; sleep(ms: number): Promise<unknown> }
  /** `operationToken` returns a DR operation token for a cluster; needed by goals that promote or follow */
  operationToken?(side: PairSide): Promise<string>
  /** parameters that verify the primary's certificate, such as `ca_path` */
  trust?: object
  /** `onStep` is called with each step before the step begins */
  onStep?(step: SetStep, pair: ObservedPair): void
  /**
   * `beforeStep` is called before a step that changes a cluster
   * @throws to prevent the step
   */
  beforeStep?(step: ActingSetStep, pair: ObservedPair): Promise<void>
  afterStep?(step: ActingSetStep, ms: number): Promise<void> | void
  report?(text: string): void
}

/** State of a program between two steps. A drill stores this state between invocations of its function. */
export interface SetRunState {
  /** true after both clusters have answered once */
  begun: boolean
  /**
   * `waiting`: the reason for which the program waits, and since when in epoch milliseconds; without `what`: any
   * reason
   */
  waiting?: { what?: string; since: number }
}

/** Result of one step of a program. `again`: another step follows, after a pause if the program waits. */
export type SetStepResult = { kind: 'again'; state: SetRunState } | { kind: 'done' }

/** Ends a run because of both clusters' answers. The message ends with the state of the pair. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped'
  readonly exit: 'refused' | 'unreachable' | 'unwell'
  constructor(exit: RunStopped['exit'], why: string, { where }: SetStep) {
    super(`${why}. ${where}`)
    this.exit = exit
  }
}

const SET_LOOK_PAUSE_MS = 1000

/**
 * Takes steps until the pair has reached the goal, or a stage of the goal.
 * @throws RunStopped, and the errors of the program's own functions
 */
export async function runUntilGoal(program: SetRunInput, until: RoleChangeStage = 'settle'): Promise<void> {
  let state: SetRunState = { begun: false }
  for (;;) {
    const round = await takeSetStep(program, state, until)
    if (round.kind === 'done') return
    state = round.state
    if (state.waiting) await program.clock.sleep(SET_LOOK_PAUSE_MS)
  }
}

/** Observes both clusters at the same time and decides the next step. */
async function observeAndDecide({
  clusters,
  goal,
}: SetRunInput): Promise<{ pair: ObservedPair; step: SetStep }> {
  const [from, to] = await Promise.all([clusters.from.observe(), clusters.to.observe()])
  const pair = { from, to }
  return { pair, step: decideNextStep(pair, goal) }
}

/**
 * Observes the pair and does the next step. A step may be interrupted at any point and called any number of times.
 * @param until last stage to work on; a step of a later stage counts as done
 */
export async function takeSetStep(
  program: SetRunInput,
  state: SetRunState,
  until: RoleChangeStage,
): Promise<SetStepResult> {
  const { pair, step: found } = await observeAndDecide(program)
  const begun = state.begun || (hasAnswered(pair.from) && hasAnswered(pair.to))
  program.onStep?.(found, pair)
  if (roleChangeStages.indexOf(found.stage) > roleChangeStages.indexOf(until)) return { kind: 'done' }
  const { step, waiting } = applyWaitLimit(found, { ...state, begun }, program)
  if (step.do === 'done') return { kind: 'done' }
  if (step.do === 'stop') throw new RunStopped(step.exit, step.why, step)
  if (step.do !== 'wait') await act(program, step, pair)
  return { kind: 'again', state: { begun, ...(waiting && { waiting }) } }
}

/** Returns the alternative of a wait that took too long, else the step itself. */
function applyWaitLimit(
  step: SetStep,
  state: SetRunState,
  { goal, clock }: SetRunInput,
): { step: SetStep; waiting?: SetRunState['waiting'] } {
  if (step.do !== 'wait') return { step }
  const { what = step.what, since: before = clock.now() } = state.waiting ?? {}
  const since = what === step.what ? before : clock.now()
  const isOver = clock.now() - since >= goal.waits[step.for] || (step.for === 'silence' && !state.begun)
  if (!isOver) return { step, waiting: { what: step.what, since } }
  return { step: { where: step.where, stage: step.stage, ...step.otherwise } }
}

async function act(program: SetRunInput, step: ActingSetStep, pair: ObservedPair): Promise<void> {
  const { clock } = program
  const began = clock.now()
  if (step.do === 'promote' && !step.resumed && !step.force) await requireReadiness(program, step, pair)
  if (program.beforeStep) {
    await program.beforeStep(step, pair)
    // the operator may have answered late, so a step that somebody else did meanwhile is not repeated
    if ((await observeAndDecide(program)).step.do !== step.do) return
  }
  await perform(program, step, pair).catch(async (error: unknown) => {
    // a repeated request is refused after its first attempt has succeeded, so the error only counts if the same
    // step is still due
    const { pair: since, step: next } = await observeAndDecide(program)
    program.onStep?.(next, since)
    if (next.do === step.do || next.do === 'stop' || (next.do === 'wait' && next.for === 'silence'))
      throw error
  })
  await program.afterStep?.(step, clock.now() - began)
}

async function perform(program: SetRunInput, step: ActingSetStep, pair: ObservedPair): Promise<void> {
  const { clusters, trust = {} } = program
  const operationOf = async (side: PairSide) => ({ dr_operation_token: await program.operationToken?.(side) })
  if (step.do === 'promote') {
    const body = { ...(await operationOf(step.to)), ...(step.force && { force: true }) }
    return void (await clusters[step.to].write('secondary/promote', body))
  }
  const [primary, secondary] = [clusters[step.primary], clusters[step.secondary]]
  const { address } = primary
  const hasMoved = address !== undefined && pair[step.primary].answer?.status.address !== address
  if (step.do === 'enable' || hasMoved)
    await primary.write('primary/enable', defined({ primary_cluster_addr: address }))
  if (step.do === 'enable') return
  const { answer, name } = pair[step.secondary]
  const id = secondary.admittedAs ?? (answer?.cluster || name)
  if (step.do !== 'admit')
    return repointSecondary({ primary, secondary }, id, await operationOf(step.secondary), trust)
  const { wrap_info } = await primary.write('primary/secondary-token', { id, replace: true })
  const { token } = (wrap_info ?? {}) as { token?: string }
  await secondary.write('secondary/enable', { token, ...trust })
}

/**
 * Makes a cluster with all data of its set follow the primary, without wiping its data.
 * @param id name of the cluster at the primary; the same transaction ends an earlier admission under this name
 */
export async function repointSecondary(
  { primary, secondary }: Readonly<Record<'primary' | 'secondary', Pick<SetCluster, 'write'>>>,
  id: string,
  operation: object,
  trust: object = {},
): Promise<void> {
  const { secondary_public_key } = dataOf(await secondary.write('secondary/generate-public-key', operation))
  const admission = { id, replace: true, secondary_public_key }
  const { token } = dataOf(await primary.write('primary/secondary-token', admission))
  await secondary.write('secondary/update-primary', { ...operation, token, ...trust })
}

/** Waits while a check refuses the promotion, because after another switch some checks need a few seconds. */
async function requireReadiness(
  { clusters, clock, goal, report, operationToken }: SetRunInput,
  step: ActingSetStep & { do: 'promote' },
  pair: ObservedPair,
): Promise<void> {
  const end = clock.now() + goal.waits.obstacle
  let reported = ''
  for (;;) {
    const body = { dr_operation_token: await operationToken?.(step.to) }
    const data = dataOf(await clusters[step.to].write('secondary/readiness', body))
    const fault = findReadinessFault(pair[step.to].name, data)
    if (fault === '') return
    if (clock.now() >= end) throw new RunStopped('refused', fault, step)
    if (fault !== reported) report?.(`${fault}; retrying for ${goal.waits.obstacle / 1000} s`)
    reported = fault
    await clock.sleep(SET_LOOK_PAUSE_MS)
  }
}
