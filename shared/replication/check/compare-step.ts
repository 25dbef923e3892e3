import { alarmingTexts } from '../../api/alarming.ts'
import { wakePuller } from '../../journal/wake.ts'
import type { TreeReindex } from '../../model/tree-work.ts'
import { key } from '../../storage/kinds.ts'
import {
  comparisonFailedError,
  noPrimaryToCompareError,
  OperationFailed,
  syncRunningError,
} from '../operation/faults.ts'
import { type OperationRun, type OperationStepResult, STEP_DONE } from '../operation/run.ts'
import { formatItemNames } from '../secondary/diverging.ts'
import { createFollower } from '../secondary/follower.ts'
import { findSourceDifferences } from '../sync/compare.ts'
import { requestSync } from '../sync/sync.ts'
import { checkRunTimeLeft, endTreeOperation, readTreeOperation, type TreeOperation } from './tree-run.ts'

/** Keys that fit into an operation item and a log line. The report contains all keys that differ. */
const NAMED = 20
const LONGEST_NAME = 200

/**
 * Runs the last step of a reindex. With `diff`, a secondary compares its items with its primary's; the next sync
 * then fetches the items that differ.
 */
export async function compareTrees(run: OperationRun, id: string): Promise<OperationStepResult> {
  const snapshot = await readTreeOperation(run, id)
  if (!snapshot) return STEP_DONE
  const { diff } = snapshot.operation.data.reindex ?? {}
  const differences = diff ? await fetchDifferences(run, id, snapshot) : undefined
  const reindex: Partial<TreeReindex> = {
    stage: 'done',
    finishedAt: run.ports.clock.now(),
    ...(differences ? { differences } : {}),
  }
  return endTreeOperation(run, id, { reindex, check: await noteRepaired(run, snapshot) })
}

/** Returns the change that removes the findings of an earlier check. */
async function noteRepaired({ ports }: OperationRun, { treeId }: TreeOperation) {
  const [check] = await ports.store.read([key('tree-check')])
  return check?.data.treeId === treeId ? { corrupted: false, findings: undefined } : {}
}

async function fetchDifferences(
  run: OperationRun,
  id: string,
  { treeId, cluster }: TreeOperation,
): Promise<TreeReindex['differences']> {
  const { ports, connect, deadline } = run
  const follower = await createFollower(ports, connect, { hasTime: () => ports.clock.now() < deadline })
  const { link } = follower ?? {}
  if (!link) throw noPrimaryToCompareError()
  const now = Math.floor(ports.clock.now() / 1000)
  const progress = async () => checkRunTimeLeft(run)
  const comparing = { journal: ports.journal, clock: ports.clock, treeId, now, link, progress }
  // commits from now on must have arrived on this secondary before they can be compared
  await wakePuller(ports, cluster).catch(() => undefined)
  const places = await findSourceDifferences(comparing).catch((cause: unknown) => {
    if (cause instanceof OperationFailed) throw cause
    throw comparisonFailedError(cause)
  })
  const names = formatItemNames(places, NAMED).map(name => name.slice(0, LONGEST_NAME))
  if (places.length > 0) {
    ports.log.error(alarmingTexts.items, {
      operation: id,
      count: places.length,
      items: names,
    })
    const readAt = ports.clock.now()
    const [record] = await ports.store.read([key('cluster')])
    const now = record && { record: record.data, readAt }
    if (!now || (await requestSync(ports, now, places)) !== 'done') throw syncRunningError()
    await wakePuller(ports, now).catch(() => undefined)
  }
  return { count: places.length, names }
}
