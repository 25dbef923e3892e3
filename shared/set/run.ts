import { type Goal, nextStep, type SeenPair, type Side, type Stage, type Step, stages } from './plan.ts'
import { readinessFault } from './readiness.ts'
import { isHeard } from './status.ts'

type Body = Readonly<Record<string, unknown>>
type Acting = Extract<Step, { do: 'enable' | 'admit' | 'follow' | 'readmit' | 'promote' }>

/** What a program gives the runner. */
export interface Program {
  goal: Goal
  look(): Promise<SeenPair>
  /**
   * Sends a write below `sys/replication/dr`, and repeats it where the answer says when.
   * @returns the body of a success. @throws where it is refused
   */
  ask(side: Side, path: string, body: object): Promise<Body>
  clock: { now(): number; sleep(ms: number): Promise<unknown> }
  /** makes or returns a DR operation token; not needed by goals that neither promote nor follow */
  operationToken?(): Promise<string>
  /** name under which a cluster is admitted; absent: its own */
  admittedAs?(side: Side): string
  /** body of `primary/enable`, and what vouches for the primary's certificate */
  enabling?: object
  trust?: object
  /** called with each step before anything else */
  at?(step: Step, pair: SeenPair): void
  /** called before a step that changes something. @throws where it is not to be done */
  before?(step: Acting, pair: SeenPair): Promise<void>
  did?(step: Acting, ms: number): Promise<void> | void
  say?(text: string): void
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

/** The run ends here, because of what both clusters say. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped'
  readonly exit: 'refused' | 'unreachable' | 'unwell'
  /** where the pair is, in a sentence */
  readonly where: string
  constructor(exit: RunStopped['exit'], why: string, where: string) {
    super(why)
    this.exit = exit
    this.where = where
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

/**
 * Looks at the pair and does the next step. It may be broken off anywhere and called any number of times.
 * @param until the last stage to work at; a step of a later one counts as done
 */
export async function takeStep(program: Program, state: RunState, until: Stage): Promise<Round> {
  const pair = await program.look()
  const planned = nextStep(pair, program.goal)
  const begun = state.begun || (isHeard(pair.from) && isHeard(pair.to))
  program.at?.(planned, pair)
  if (stages.indexOf(planned.stage) > stages.indexOf(until)) return { kind: 'done' }
  const { step, waiting } = waited(planned, { ...state, begun }, program)
  if (step.do === 'done') return { kind: 'done' }
  if (step.do === 'stop') throw new RunStopped(step.exit, step.why, step.where)
  if (step.do !== 'wait') await act(program, step, pair)
  return { kind: 'again', state: { begun, ...(waiting && { waiting }) } }
}

/** Returns what comes after a wait that took too long, else the step itself. */
function waited(
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

async function act(program: Program, step: Acting, pair: SeenPair): Promise<void> {
  const { clock } = program
  const began = clock.now()
  if (step.do === 'promote' && !step.resumed && !step.force) await requireReadiness(program, step, pair)
  if (program.before) {
    await program.before(step, pair)
    // an answer takes as long as it takes, and what somebody else did meanwhile is not done again
    if (nextStep(await program.look(), program.goal).do !== step.do) return
  }
  await perform(program, step, pair).catch(async (error: unknown) => {
    // a request that is repeated, because its answer took too long or was lost, is refused where it has done its work
    const next = nextStep(await program.look(), program.goal)
    if (next.do === step.do || next.do === 'stop' || (next.do === 'wait' && next.for === 'silence'))
      throw error
  })
  await program.did?.(step, clock.now() - began)
}

async function perform(program: Program, step: Acting, pair: SeenPair): Promise<void> {
  const token = async () => (await program.operationToken?.()) ?? ''
  if (step.do === 'enable')
    return void (await program.ask(step.primary, 'primary/enable', program.enabling ?? {}))
  if (step.do === 'promote') {
    const body = { dr_operation_token: await token(), ...(step.force ? { force: true } : {}) }
    return void (await program.ask(step.to, 'secondary/promote', body))
  }
  const { primary, secondary } = step
  // an earlier admission under the name ends in the same transaction
  const { word, name } = pair[secondary]
  const id = program.admittedAs?.(secondary) ?? (word?.cluster || name)
  const admission = { id, replace: true } as const
  if (step.do === 'admit') {
    const { wrap_info } = await program.ask(primary, 'primary/secondary-token', admission)
    const { token: activation } = (wrap_info ?? {}) as { token?: string }
    return void (await program.ask(secondary, 'secondary/enable', { token: activation, ...program.trust }))
  }
  const asked: AskRoles = (role, path, body) => program.ask(step[role], path, body)
  await haveFollow(asked, admission, await token(), program.trust)
}

type AskRoles = (role: 'primary' | 'secondary', path: string, body: object) => Promise<Body>

/** Has a cluster that has all data of its set follow the primary: nothing is wiped. @param admission its name there */
export async function haveFollow(
  ask: AskRoles,
  admission: { id: string; replace: true },
  token: string,
  trust: object = {},
): Promise<void> {
  const operation = { dr_operation_token: token }
  const { secondary_public_key } = dataOf(await ask('secondary', 'secondary/generate-public-key', operation))
  const made = dataOf(await ask('primary', 'primary/secondary-token', { ...admission, secondary_public_key }))
  await ask('secondary', 'secondary/update-primary', { ...operation, token: made['token'], ...trust })
}

const dataOf = ({ data }: Body): Body => (data ?? {}) as Body

/** Waits while something is in the way of a promotion: behind another switch some things are not known yet. */
async function requireReadiness(
  { ask, clock, goal, say, operationToken }: Program,
  { to, where }: Acting & { do: 'promote' },
  pair: SeenPair,
): Promise<void> {
  const end = clock.now() + goal.waits.obstacle
  let reported = ''
  for (;;) {
    const body = { dr_operation_token: await operationToken?.() }
    const fault = readinessFault(pair[to].name, dataOf(await ask(to, 'secondary/readiness', body)))
    if (fault === '') return
    if (clock.now() >= end) throw new RunStopped('refused', fault, where)
    if (fault !== reported) say?.(`${fault}; looking again for ${goal.waits.obstacle / 1000} s`)
    reported = fault
    await clock.sleep(LOOK_MS)
  }
}
