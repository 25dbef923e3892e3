import type { Drill } from '../../model/drill.ts'
import { AGAIN, DONE, type StepResult } from '../operation/run.ts'
import { checkBoth, ownName } from './check.ts'
import { readinessFault } from './readiness-fault.ts'
import { type DrillRun, DrillStopped, drillOf, noteDrill } from './run.ts'
import { couldTakeOver, followBack, lostSince, type Side, switchTo } from './switch-over.ts'

interface DrillStep {
  name: string
  /** does the step, and may be called any number of times; `again`: it is not done yet. @returns what to note of the drill */
  work(run: DrillRun, drill: Drill): Promise<Partial<Drill> | 'again'>
  /** what an operator does if the drill stopped here */
  next: string
}

/** Milliseconds for which a step may be repeated, and between two looks. */
const STEP_TIMEOUT_MS = 15 * 60_000
const PAUSE_MS = 2000

/** The same for what is in the way of a drill's beginning. */
const CHECK_TIMEOUT_MS = 30_000
const CHECK_PAUSE_MS = 5000

const WELL = 'nothing has changed on either cluster: see to what it names, or wait for the next drill'
const THERE =
  'look at sys/replication/dr/status of both: whichever is primary serves; where none is, repeat secondary/promote on the peer, or promote this cluster again with force (runbook planned-switch)'
const FOLLOW =
  'the peer is primary and serves; have this cluster follow it by its token and secondary/update-primary (runbook planned-switch, step 4), then go back (runbook failback)'
const BACK =
  'look at sys/replication/dr/status of both: whichever is primary serves; where none is, repeat secondary/promote here, or promote the peer again with force (runbook failback)'
const FOLLOWED =
  'this cluster is primary again and serves; have the peer follow it by its token and secondary/update-primary (runbook failback)'

/** The steps of a drill, in their order: a planned switch to the peer, and back. None of them uses force. */
export const drillSteps: readonly DrillStep[] = [
  { name: 'check', work: check, next: WELL },
  {
    name: 'there',
    work: async (run, drill) => ({ there: { ...drill.there, unserved: await switchTo(run, 'peer') } }),
    next: THERE,
  },
  { name: 'follow', work: async run => follow(run, 'own', await ownName(run)), next: FOLLOW },
  {
    name: 'settle',
    work: async (run, drill) => settle(run, drill, 'own', 'there'),
    next: FOLLOW,
  },
  {
    name: 'back',
    work: async (run, drill) => ({ back: { ...drill.back, unserved: await switchTo(run, 'own') } }),
    next: BACK,
  },
  { name: 'follow back', work: async (run, drill) => follow(run, 'peer', drill.peer), next: FOLLOWED },
  { name: 'settle back', work: async (run, drill) => settle(run, drill, 'peer', 'back'), next: FOLLOWED },
]

/** Waits for obstacles that pass by themselves: between two heartbeats a primary may know little of its secondary. */
async function check(run: DrillRun, { stepAt }: Drill): Promise<Partial<Drill> | 'again'> {
  const { clock } = run.ports
  try {
    return { peer: await checkBoth(run) }
  } catch (error) {
    if (!(error instanceof DrillStopped) || clock.now() - stepAt >= CHECK_TIMEOUT_MS) throw error
    await clock.sleep(CHECK_PAUSE_MS)
    return 'again'
  }
}

async function follow(run: DrillRun, side: Side, name: string): Promise<Partial<Drill>> {
  await followBack(run, side, name)
  return {}
}

/** Waits until the former primary could take over again; by then the losses are known. */
async function settle(
  run: DrillRun,
  drill: Drill,
  side: Side,
  way: 'there' | 'back',
): Promise<Partial<Drill> | 'again'> {
  const { clock } = run.ports
  const fault = readinessFault(side, await couldTakeOver(run, side))
  const lost = fault ? undefined : await lostSince(run, side, drill.startedAt)
  if (lost !== undefined) return { [way]: { ...drill[way], lost } }
  if (clock.now() - drill.stepAt >= STEP_TIMEOUT_MS)
    throw new DrillStopped(fault || `what ${side} has lost is not known in time`)
  await clock.sleep(PAUSE_MS)
  return 'again'
}

const stepAfter = (name: string): string =>
  drillSteps[drillSteps.findIndex(one => one.name === name) + 1]?.name ?? 'report'

/**
 * Does a step of a drill. It may be repeated any number of times, and interrupted at any point.
 * @throws DrillStopped if the drill ends here
 */
export async function takeDrillStep(run: DrillRun, id: string, name: string): Promise<StepResult> {
  const item = await drillOf(run, id)
  const { data: drill } = item
  const step = drillSteps.find(one => one.name === name)
  if (!step) throw new Error(`a drill has no step ${name}`)
  // an earlier attempt has gone on already
  if (drill.step !== name || drill.status !== 'running') return DONE
  const done = await step.work(run, drill)
  if (done === 'again') return AGAIN
  await noteDrill(run, item, { ...drill, ...done, step: stepAfter(name), stepAt: run.ports.clock.now() })
  return DONE
}

/** What an operator does when a drill stopped at a step. */
export const adviceAt = (name: string): string => drillSteps.find(one => one.name === name)?.next ?? THERE
