import { defined } from '../values/defined.ts'
import {
  type ActingStep,
  decideNextStep,
  type Goal,
  type ObservedPair,
  type Side,
  type Stage,
  type Step,
  stages,
} from './plan.ts'
import { findReadinessFault } from './readiness.ts'
import { hasAnswered, type ObservedCluster } from './status.ts'

type Body = Readonly<Record<string, unknown>>

/** A cluster as a program reaches it. */
export interface SetCluster {
  observe(): Promise<ObservedCluster>
  /**
   * Sends a write below `sys/replication/dr`, and repeats it where the answer says when.
   * @returns the body of a success. @throws where it is refused
   */
  write(path: string, body: object): Promise<Body>
  /** name under which it is admitted; absent: its own */
  admittedAs?: string
  /** where secondaries find it while it is the primary; absent: where it says */
  address?: string
}

/** What a program gives the runner. */
export interface Program {
  goal: Goal
  clusters: Readonly<Record<Side, SetCluster>>
  clock: { now(): number; sleep(ms: number): Promise<unknown> }
  /** makes or returns a DR operation token for a cluster; not needed by goals that neither promote nor follow */
  operationToken?(side: Side): Promise<string>
  /** what vouches for the primary's certificate */
  trust?: object
  /** called with each step before anything else */
  onStep?(step: Step, pair: ObservedPair): void
  /** called before a step that changes something. @throws where it is not to be done */
  beforeStep?(step: ActingStep, pair: ObservedPair): Promise<void>
  afterStep?(step: ActingStep, ms: number): Promise<void> | void
  report?(text: string): void
}

/** What a run remembers between two steps. A drill stores it between calls of its function. */
export interface RunState {
  /** both clusters have answered at some time */
  begun: boolean
  /** since when it waits for the same, epoch milliseconds; without `what`: for whatever it is */
  waiting?: { what?: string; since: number }
}

/** What came of a step. `again`: there is more to do, at once or, where it waits, after a while. */
export type Round = { kind: 'again'; state: RunState } | { kind: 'done' }

/** The run ends here, because of what both clusters say. The message ends with where the pair is. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped'
  readonly exit: 'refused' | 'unreachable' | 'unwell'
  constructor(exit: RunStopped['exit'], why: string, { where }: Step) {
    super(`${why}. ${where}`)
    this.exit = exit
  }
}

const LOOK_MS = 1000

/** Takes steps until the goal, or a stage of it, is reached. @throws RunStopped, and what the program throws */
export async function run(program: Program, until: Stage = 'settle'): Promise<void> {
  let state: RunState = { begun: false }
  for (;;) {
    const round = await takeStep(program, state, until)
    if (round.kind === 'done') return
    state = round.state
    if (state.waiting) await program.clock.sleep(LOOK_MS)
  }
}

/** Looks at both clusters at once. */
async function observeAndDecide({ clusters, goal }: Program): Promise<{ pair: ObservedPair; step: Step }> {
  const [from, to] = await Promise.all([clusters.from.observe(), clusters.to.observe()])
  const pair = { from, to }
  return { pair, step: decideNextStep(pair, goal) }
}

/**
 * Looks at the pair and does the next step. It may be broken off anywhere and called any number of times.
 * @param until the last stage to work at; a step of a later one counts as done
 */
export async function takeStep(program: Program, state: RunState, until: Stage): Promise<Round> {
  const { pair, step: found } = await observeAndDecide(program)
  const begun = state.begun || (hasAnswered(pair.from) && hasAnswered(pair.to))
  program.onStep?.(found, pair)
  if (stages.indexOf(found.stage) > stages.indexOf(until)) return { kind: 'done' }
  const { step, waiting } = applyWaitLimit(found, { ...state, begun }, program)
  if (step.do === 'done') return { kind: 'done' }
  if (step.do === 'stop') throw new RunStopped(step.exit, step.why, step)
  if (step.do !== 'wait') await act(program, step, pair)
  return { kind: 'again', state: { begun, ...(waiting && { waiting }) } }
}

/** Returns what comes after a wait that took too long, else the step itself. */
function applyWaitLimit(
  step: Step,
  state: RunState,
  { goal, clock }: Program,
): { step: Step; waiting?: RunState['waiting'] } {
  if (step.do !== 'wait') return { step }
  const { what = step.what, since: before = clock.now() } = state.waiting ?? {}
  const since = what === step.what ? before : clock.now()
  const isOver = clock.now() - since >= goal.waits[step.for] || (step.for === 'silence' && !state.begun)
  if (!isOver) return { step, waiting: { what: step.what, since } }
  return { step: { where: step.where, stage: step.stage, ...step.otherwise } }
}

async function act(program: Program, step: ActingStep, pair: ObservedPair): Promise<void> {
  const { clock } = program
  const began = clock.now()
  if (step.do === 'promote' && !step.resumed && !step.force) await requireReadiness(program, step, pair)
  if (program.beforeStep) {
    await program.beforeStep(step, pair)
    // an answer takes as long as it takes, and what somebody else did meanwhile is not done again
    if ((await observeAndDecide(program)).step.do !== step.do) return
  }
  await perform(program, step, pair).catch(async (error: unknown) => {
    // a request that is repeated, because its answer took too long or was lost, is refused where it has done its work
    const { pair: since, step: next } = await observeAndDecide(program)
    program.onStep?.(next, since)
    if (next.do === step.do || next.do === 'stop' || (next.do === 'wait' && next.for === 'silence'))
      throw error
  })
  await program.afterStep?.(step, clock.now() - began)
}

async function perform(program: Program, step: ActingStep, pair: ObservedPair): Promise<void> {
  const { clusters, trust = {} } = program
  const operationOf = async (side: Side) => ({ dr_operation_token: await program.operationToken?.(side) })
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
 * Has a cluster that has all data of its set follow the primary: nothing is wiped.
 * @param id its name there; an earlier admission under it ends in the same transaction
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

const dataOf = ({ data }: Body): Body => (data ?? {}) as Body

/** Waits while something is in the way of a promotion: behind another switch some things are not known yet. */
async function requireReadiness(
  { clusters, clock, goal, report: say, operationToken }: Program,
  step: ActingStep & { do: 'promote' },
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
    if (fault !== reported) say?.(`${fault}; looking again for ${goal.waits.obstacle / 1000} s`)
    reported = fault
    await clock.sleep(LOOK_MS)
  }
}
