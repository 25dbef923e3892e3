import { answer, type Call, type CallOutcome, dataAnswer, noContentAnswer } from '../../api/call.ts'
import { boolField } from '../../api/fields.ts'
import { refreshTreeHashes } from '../../journal/refresh.ts'
import type { OperationState } from '../../model/operation.ts'
import type { TreeCheck, TreeReindex } from '../../model/tree-work.ts'
import { type Change, createItem, removeItem, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { CONFLICT_RESULT, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { toCorruptionReport } from '../check/findings.ts'
import { awaitOperation, createOperationStart } from '../operation/operate.ts'
import {
  checkStartConflictError,
  diffNeedsPrimaryError,
  noTreeError,
  operationFailedError,
  reindexRunningError,
  treeNotBuiltError,
} from '../operation/refusals.ts'
import { checkRoleTransition } from '../operation/transitions.ts'
import { readWaitingExecution, startAndAwaitWorkflow } from '../operation/waiting.ts'
import { toRootFacts } from '../status/look.ts'
import { toShownRoot } from '../status/status.ts'

/** Reads the items about the tree together with the request's first read. */
export const prepareTreeWork = async () => ({
  keys: [key('cluster'), key('tree-check'), key('tree-reindex')] as const,
})

/** Milliseconds for which the answer to later requests reuses a report or a root. */
const TREE_FRESH_MS = 60_000
/** Milliseconds after which a running operation counts as dead. */
const TREE_RUN_LOST_MS = 3_600_000
const TREE_CHECK_TRIES = 3

/** Returns the id of this cluster's tree. @throws ApiError if the tree is missing or incomplete */
function treeIdOf(call: Pick<Call, 'cluster'>): string {
  const { mode, treeId, treeComplete } = call.cluster.record
  if (treeId === undefined || mode === 'disabled') throw noTreeError(mode)
  if (treeComplete === false) throw treeNotBuiltError()
  return treeId
}

/** Handles POST sys/replication/dr/secondary/merkle-check. */
export function checkSecondaryTree(call: Call): Promise<CallOutcome> {
  checkRoleTransition('secondary/merkle-check', call.cluster.record)
  return checkMerkleTree(call)
}

/**
 * Handles POST sys/replication/merkle-check: checks the tree and returns the report, or returns a report that is less than
 * a minute old. A request during a check waits for that check.
 */
export async function checkMerkleTree(call: Call): Promise<CallOutcome> {
  const { ports, now } = call
  const treeId = treeIdOf(call)
  const before = call.fetched.get(key('tree-check'))
  const kept = reportOf(before, treeId)
  if (kept && now - kept.at < TREE_FRESH_MS) return answer(dataAnswer(kept.report))
  const id = await joinCheck(call, treeId, before)
  const { status, fault } = await awaitOperation(id, ports)
  if (status === 'failed') throw operationFailedError(fault, 10)
  const [after] = await ports.store.read([key('tree-check')])
  const found = reportOf(after, treeId)
  if (!found) throw treeNotBuiltError()
  return answer(dataAnswer(found.report))
}

function reportOf(item: Item<'tree-check'> | undefined, treeId: string) {
  const { checkedAt, findings, treeId: of } = item?.data ?? {}
  if (of !== treeId || checkedAt === undefined || !findings) return undefined
  return { at: checkedAt, report: { merkle_corruption_report: toCorruptionReport(findings, checkedAt) } }
}

/** Returns the operation id of the running check, or starts a check. */
async function joinCheck(
  call: Call,
  treeId: string,
  before: Item<'tree-check'> | undefined,
): Promise<string> {
  const { ports, now } = call
  let check = before
  const joins = await retryOnConflict({ tries: TREE_CHECK_TRIES }, async () => {
    if (check?.data.treeId === treeId && (await isRunning(call, check.data))) return ok(check.data.operation)
    const { checkedAt: _, ...old } = check?.data.treeId === treeId ? check.data : {}
    const begun = await begin(call, 'merkle-check', operation => {
      const next: TreeCheck = { corrupted: false, ...old, treeId, operation, startedAt: now }
      return replaceItem(key('tree-check'), check, next)
    })
    if (begun) return ok(begun)
    const [again] = await ports.store.read([key('tree-check')])
    check = again
    return CONFLICT_RESULT
  })
  if (!joins.ok) throw checkStartConflictError()
  return joins.value
}

/** Reports whether an operation is still running. */
async function isRunning(
  { ports, now }: Pick<Call, 'ports' | 'now'>,
  { operation, startedAt }: Pick<TreeCheck | TreeReindex, 'operation' | 'startedAt'>,
): Promise<boolean> {
  if (now - startedAt > TREE_RUN_LOST_MS) return false
  const [item] = await ports.store.read([key('operation', operation)])
  return item?.data.status === 'running'
}

/**
 * Begins an operation over the tree. A tree operation does not change the cluster's role, so other operations need
 * not wait for it.
 * @param note returns the change of the item about the newest check or reindex
 * @returns the operation's id; undefined if another request began an operation first
 */
async function begin(
  call: Call,
  name: 'merkle-check' | 'reindex',
  note: (operation: string) => Change,
  more: Partial<OperationState> = {},
): Promise<string | undefined> {
  const { ports, now } = call
  const { id, place } = createOperationStart(ports)
  const step = name === 'reindex' ? 'build' : 'check'
  const state: OperationState = { name, status: 'running', step, startedAt: now, changedAt: now, ...more }
  const adopted = await readWaitingExecution(name, ports)
  const changes = [createItem(place, state), note(id), ...(adopted ? [removeItem(adopted)] : [])]
  if ((await ports.store.commit(changes, call.cluster)) !== 'done') return undefined
  try {
    await startAndAwaitWorkflow(name, id, adopted, ports)
  } catch (error) {
    // nothing restarts a dead tree operation: the next request begins another operation
    const [item] = await ports.store.read([place])
    if (item)
      await ports.store.commit([replaceItem(item, item, { ...item.data, status: 'failed' })], call.cluster)
    throw error
  }
  return id
}

export const reindexTreeFields = {
  diff: boolField('Also compare a secondary with its primary, and fetch the items that differ'),
  force: boolField('Recompute the hashes of all pages, not only of wrong ones'),
  skip_flush: boolField('Recompute the hashes of pages later, in the background'),
}

/** Handles POST sys/replication/dr/secondary/reindex. */
export function reindexSecondary(call: Call<typeof reindexTreeFields>): Promise<CallOutcome> {
  checkRoleTransition('secondary/reindex', call.cluster.record)
  return reindexTree(call)
}

/** Handles POST sys/replication/reindex: repairs the tree from the stored items, in the background. */
export async function reindexTree(call: Call<typeof reindexTreeFields>): Promise<CallOutcome> {
  const { parameters, now } = call
  const treeId = treeIdOf(call)
  const { record } = call.cluster
  const { diff = false, force = false, skip_flush: skipFlush = false } = parameters
  if (diff && (record.mode !== 'secondary' || !record.link?.primaryKey)) throw diffNeedsPrimaryError()
  const before = call.fetched.get(key('tree-reindex'))
  if (before?.data.treeId === treeId && (await isRunning(call, before.data))) throw reindexRunningError()
  const begun = await begin(
    call,
    'reindex',
    operation => {
      const { finishedAt } = before?.data.treeId === treeId ? before.data : {}
      const next: TreeReindex = { treeId, operation, startedAt: now, stage: 'scanning', done: 0, total: 0 }
      return replaceItem(
        key('tree-reindex'),
        before,
        finishedAt === undefined ? next : { ...next, finishedAt },
      )
    },
    { reindex: { diff, force, skipFlush } },
  )
  if (!begun) throw reindexRunningError()
  return { answer: noContentAnswer([REINDEXING]) }
}

const REINDEXING =
  'this cluster rebuilds its Merkle tree in the background, without an interruption; GET sys/replication/dr/status shows the progress'

/**
 * Handles POST sys/replication/merkle-root: computes the root at the last position, or returns the stored root if
 * it is less than a minute old.
 */
export async function computeMerkleRoot(call: Call): Promise<CallOutcome> {
  const { journal, journalView } = call.ports
  const treeId = treeIdOf(call)
  const { head, roots } = await journalView.readStatus(treeId)
  if (head && call.now - (roots?.whole?.at ?? 0) >= TREE_FRESH_MS)
    await refreshTreeHashes({
      journal,
      treeId,
      head,
      now: Math.floor(call.now / 1000),
    })
  const facts = toRootFacts((await journalView.readStatus(treeId)).roots)
  if (facts.root === '') throw treeNotBuiltError()
  return answer(dataAnswer(toShownRoot(facts)))
}
