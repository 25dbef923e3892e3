import { linkToPrimaryOf } from '../../model/cluster.ts'
import type { DrillRecord } from '../../model/drill.ts'
import { judgePair } from '../../set/pair.ts'
import { type RoleChangeStage, WAIT_LIMITS_MS } from '../../set/plan.ts'
import { findReadinessFault } from '../../set/readiness.ts'
import { dataOf } from '../../set/status.ts'
import { key } from '../../storage/kinds.ts'
import { ok, PENDING_RESULT, type Result } from '../../values/result.ts'
import { type OperationStepResult, STEP_AGAIN, STEP_DONE } from '../operation/run.ts'
import {
  changeDrillRoles,
  countLostCommits,
  type DrillWay,
  fetchReadiness,
  readDrillMember,
} from './change.ts'
import { type DrillDependencies, type DrillRun, DrillStopped, noteDrillProgress, readDrill } from './run.ts'
import { issueDrillToken } from './token.ts'

interface DrillStep {
  name: string
  /**
   * `work` runs the step, any number of times; `pending`: the step is not done yet. @returns the fields to store in
   * the drill
   */
  work(drilling: DrillDependencies, drill: DrillRecord): Promise<Result<Partial<DrillRecord>, 'pending'>>
  /** `next` tells an operator what to do if the drill stopped at this step */
  next: string
}

const ADVICE_UNCHANGED =
  'nothing has changed on either cluster: remove the obstacle that the drill reports, or wait for the next drill'
const ADVICE_SWITCHING =
  'read sys/replication/dr/status on both clusters: the cluster in mode primary serves clients; if neither cluster is primary, repeat secondary/promote on the peer, or promote this cluster again with force (runbook planned-switch)'
const ADVICE_FOLLOW_PEER =
  'the peer is the primary and serves clients; make this cluster follow the peer by a token of the peer and secondary/update-primary (runbook planned-switch, step 4), then switch back (runbook failback)'
const ADVICE_SWITCHING_BACK =
  'read sys/replication/dr/status on both clusters: the cluster in mode primary serves clients; if neither cluster is primary, repeat secondary/promote on this cluster, or promote the peer again with force (runbook failback)'
const ADVICE_PEER_FOLLOWS =
  'this cluster is the primary again and serves clients; make the peer follow this cluster by a token of this cluster and secondary/update-primary (runbook failback)'

const createStep = (name: string, way: DrillWay, stage: RoleChangeStage, next: string): DrillStep => ({
  name,
  work: (drilling, drill) =>
    stage === 'settle' ? settle(drilling, drill, way) : changeDrillRoles(drilling, drill, way, stage),
  next,
})

/** The steps of a drill in order: a planned switch to the peer, and back. No step uses force. */
export const drillSteps: readonly DrillStep[] = [
  { name: 'check', work: check, next: ADVICE_UNCHANGED },
  createStep('there', 'there', 'promote', ADVICE_SWITCHING),
  createStep('follow', 'there', 'follow', ADVICE_FOLLOW_PEER),
  createStep('settle', 'there', 'settle', ADVICE_FOLLOW_PEER),
  createStep('back', 'back', 'promote', ADVICE_SWITCHING_BACK),
  createStep('follow back', 'back', 'follow', ADVICE_PEER_FOLLOWS),
  createStep('settle back', 'back', 'settle', ADVICE_PEER_FOLLOWS),
]

/**
 * Checks that both clusters are ready to switch, and are primary and secondary of the same set.
 * @returns the name under which this cluster admitted the other cluster
 * @throws DrillStopped
 */
async function checkBoth(drilling: DrillDependencies): Promise<string> {
  const [own, peer] = await Promise.all([readDrillMember(drilling, 'own'), readDrillMember(drilling, 'peer')])
  if (own.answer.status.mode !== 'primary')
    throw new DrillStopped('this cluster is not the primary: only the primary starts a drill')
  const { mode, set, memberName } = peer.answer.status
  if (mode !== 'secondary' || set !== own.answer.status.set)
    throw new DrillStopped(`the peer is not a secondary of this set: the mode of the peer is ${mode}`)
  const token = await drilling.token()
  const ready = await drilling.ask('own', 'GET', 'sys/replication/dr/readiness', { token })
  if (ready.refused) throw new DrillStopped(`the readiness of this cluster answers ${ready.refused}`)
  const fault =
    findReadinessFault('own', dataOf(ready.body)) ||
    findReadinessFault('peer', await fetchReadiness(drilling, 'peer'))
  if (fault) throw new DrillStopped(fault)
  const { situation, sentence } = judgePair(own, peer)
  if (situation !== 'following') throw new DrillStopped(sentence)
  return memberName
}

/**
 * Waits until temporary obstacles to the switch are gone. Between two heartbeats the primary may not yet know which
 * position its secondary has reached.
 */
async function check(
  drilling: DrillDependencies,
  { stepAt }: DrillRecord,
): Promise<Result<Partial<DrillRecord>, 'pending'>> {
  try {
    return ok({ peer: await checkBoth(drilling) })
  } catch (error) {
    const isOver = drilling.clock.now() - stepAt >= WAIT_LIMITS_MS.obstacle
    if (!(error instanceof DrillStopped) || isOver) throw error
    return PENDING_RESULT
  }
}

/**
 * Waits until the former primary could take over again. When the former primary can take over again, its lost
 * commits are known.
 */
async function settle(
  drilling: DrillDependencies,
  drill: DrillRecord,
  way: DrillWay,
): Promise<Result<Partial<DrillRecord>, 'pending'>> {
  const member = way === 'there' ? 'own' : 'peer'
  const fault = findReadinessFault(member, await fetchReadiness(drilling, member))
  const lost = fault ? undefined : await countLostCommits(drilling, member, drill.startedAt)
  if (lost !== undefined) return ok({ [way]: { ...drill[way], lost } })
  if (drilling.clock.now() - drill.stepAt >= WAIT_LIMITS_MS['catching-up'])
    throw new DrillStopped(fault || `the report of the lost commits of ${member} was not complete in time`)
  return PENDING_RESULT
}

/** Returns the dependencies of the steps in a Lambda. */
const createDrilling = (run: DrillRun): DrillDependencies => ({
  ask: run.ask,
  clock: run.ports.clock,
  deadline: run.deadline,
  token: () => issueDrillToken(run),
  ownName: async () => {
    const [record] = await run.ports.store.read([key('cluster')])
    return (
      (record && (linkToPrimaryOf(record.data)?.secondaryId || record.data.name)) ||
      run.ports.deployment.clusterName
    )
  },
})

const stepAfter = (name: string): string =>
  drillSteps[drillSteps.findIndex(one => one.name === name) + 1]?.name ?? 'report'

/**
 * Runs a step of a drill. A step may be repeated any number of times, and interrupted at any point.
 * @throws DrillStopped if this step ends the drill
 */
export async function takeDrillStep(run: DrillRun, id: string, name: string): Promise<OperationStepResult> {
  const item = await readDrill(run, id)
  const { data: drill } = item
  const step = drillSteps.find(one => one.name === name)
  if (!step) throw new Error(`a drill has no step ${name}`)
  // an earlier attempt has completed the step
  if (drill.step !== name || drill.status !== 'running') return STEP_DONE
  const done = await step.work(createDrilling(run), drill)
  if (!done.ok) return STEP_AGAIN
  await noteDrillProgress(run, item, {
    ...drill,
    ...done.value,
    step: stepAfter(name),
    stepAt: run.ports.clock.now(),
  })
  return STEP_DONE
}

/** Returns what an operator should do if a drill stopped at a step. */
export const adviceForStep = (name: string): string =>
  drillSteps.find(one => one.name === name)?.next ?? ADVICE_SWITCHING
