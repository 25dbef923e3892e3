import { ApiError } from '../../api/errors.ts'
import type { TreeCheck, TreeReindex } from '../../model/tree-work.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { CONFLICT_RESULT, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import {
  noTreeInModeError,
  treeBusyError,
  treeStillBuildingError,
  treeTooLargeError,
} from '../operation/faults.ts'
import {
  commitOperationStep,
  type OperationEnd,
  type OperationRun,
  type OperationSnapshot,
  type OperationStepResult,
  readOperation,
  STEP_AGAIN,
  STEP_DONE,
} from '../operation/run.ts'

/** Milliseconds between two updates of a run's progress. */
const TREE_NOTE_PERIOD_MS = 2000
const NOTE_TRIES = 5

/** A running operation over this cluster's tree. */
export interface TreeOperation extends OperationSnapshot {
  treeId: string
}

/**
 * Reads the operation and its tree. @returns undefined if the operation has ended. @throws OperationFailed if the
 * tree no longer exists
 */
export async function readTreeOperation(run: OperationRun, id: string): Promise<TreeOperation | undefined> {
  const snapshot = await readOperation(run, id)
  if (snapshot.operation.data.status !== 'running') return undefined
  const { treeId, mode, treeComplete } = snapshot.record.data
  if (treeId === undefined || (mode !== 'primary' && mode !== 'secondary')) throw noTreeInModeError(mode)
  if (treeComplete === false) throw treeStillBuildingError()
  return { ...snapshot, treeId }
}

/** Turns a temporary error (`busy`) into a failure of the operation, so that its caller repeats the request. */
export async function rethrowAsTreeBusy<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'busy') throw treeBusyError(error)
    throw error
  }
}

/** Fails a run that would outlast its Lambda. @throws OperationFailed */
export function checkRunTimeLeft({ ports, deadline }: OperationRun): void {
  if (ports.clock.now() > deadline) throw treeTooLargeError()
}

/**
 * Returns a function that stores the progress of a reindex every two seconds. If storing the progress fails, the
 * reindex continues.
 */
export function createTreeProgressNoter(run: OperationRun, id: string) {
  let last = 0
  return async (change: Partial<TreeReindex>, always = false): Promise<void> => {
    checkRunTimeLeft(run)
    const now = run.ports.clock.now()
    if (!always && now - last < TREE_NOTE_PERIOD_MS) return
    last = now
    const { cluster } = await readOperation(run, id)
    const [item] = await run.ports.store.read([key('tree-reindex')])
    if (item?.data.operation !== id) return
    await run.ports.store.commit([replaceItem(item, item, { ...item.data, ...change })], cluster)
  }
}

/** The changes of the operation and of the cluster record at the end of an operation. */
export interface TreeOperationEnd {
  check?: Partial<TreeCheck>
  reindex?: Partial<TreeReindex>
}

/** Ends the operation, and stores its result. */
export async function endTreeOperation(
  run: OperationRun,
  id: string,
  end: TreeOperationEnd,
): Promise<OperationStepResult> {
  const ends = await retryOnConflict({ tries: NOTE_TRIES }, async () => {
    const snapshot = await readOperation(run, id)
    if (snapshot.operation.data.status !== 'running') return ok()
    const [check, reindex] = await run.ports.store.read([key('tree-check'), key('tree-reindex')])
    const ended = await commitOperationStep(run, snapshot, { status: 'done', step: '' }, [
      ...(check && end.check ? [replaceItem(check, check, { ...check.data, ...end.check })] : []),
      ...(reindex && end.reindex ? [replaceItem(reindex, reindex, { ...reindex.data, ...end.reindex })] : []),
    ])
    return ended === STEP_DONE ? ok() : CONFLICT_RESULT
  })
  return ends.ok ? STEP_DONE : STEP_AGAIN
}

/**
 * Handles the failure of a step of a check or reindex. Repairs of the tree stay, and the failed step has changed
 * nothing else.
 */
export const failTreeOperation: OperationEnd = async (run, id, fault) => {
  const snapshot = await readOperation(run, id)
  if (snapshot.operation.data.status !== 'running') return STEP_DONE
  const [reindex] = await run.ports.store.read([key('tree-reindex')])
  const own = reindex?.data.operation === id ? [reindex] : []
  const failed = own.map(item => replaceItem(item, item, { ...item.data, stage: 'failed' as const }))
  return commitOperationStep(run, snapshot, { status: 'failed', fault }, failed)
}
