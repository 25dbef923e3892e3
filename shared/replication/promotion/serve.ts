import { revokeOperationToken } from '../../ceremony/generated-token.ts'
import { createSignerEntry, createTermItems } from '../../cluster/terms.ts'
import { writeReplicationEvent } from '../../journal/events.ts'
import type { JournalHead } from '../../journal/head.ts'
import { createNoopEntry } from '../../journal/journal-entry.ts'
import { headMoves } from '../../journal/transitions.ts'
import { type Change, putItem, removeItem, replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import {
  commitOperationStep,
  type OperationEnd,
  type OperationRun,
  type OperationStep,
  type OperationStepResult,
  readEndingOperation,
  STEP_AGAIN,
  STEP_DONE,
  withFailedOperation,
  withoutOperation,
} from '../operation/run.ts'
import { replaceFollowerKeyring } from '../secondary/follower.ts'
import { movePromotionToStep, type PromotionSnapshot, readPromotionAtStep } from './step.ts'

/** Writes the first journal entry of the new epoch. From the first entry on the journal accepts writes. */
export const openOwnEpoch: OperationStep = async (run, id) => {
  const snapshot = await readPromotionAtStep(run, id, 'open')
  if (!snapshot) return STEP_DONE
  const { journal, clock } = run.ports
  const { takenOver } = snapshot.promotion
  const head = await journal.head()
  if (
    takenOver &&
    head?.mode === 'writing' &&
    head.epoch === takenOver.epoch &&
    head.last === takenOver.seq
  ) {
    const position = await journal.allocate(takenOver.epoch)
    if (position !== 'refused')
      await journal.putEntry(createNoopEntry({ epoch: takenOver.epoch, seq: position.seq }, clock.now()))
  }
  const signer = await addOwnSigner(run, snapshot)
  return movePromotionToStep(run, snapshot, 'serve', {}, {}, signer)
}

/**
 * Adds this cluster's own signing key for batch tokens to the term that encrypts. No other cluster has this
 * cluster's signing key. The step runs before other clusters learn of the new primary. If the term's item was lost
 * with the end of the old primary's journal, the step writes the item again, without its earlier signers.
 */
async function addOwnSigner(
  { ports }: OperationRun,
  { record }: PromotionSnapshot,
): Promise<readonly Change[]> {
  const { store, keyFactory, clock } = ports
  const [keyring] = await store.read([key('keyring')])
  if (!keyring) throw new Error('there is no keyring')
  const made = await keyFactory.addSigner(keyring.data, clock.now())
  const active = made.terms.find(one => one.id === made.keyring.activeTerm)
  const [term] = await store.read([key('term', active?.id ?? '')])
  const { signers: known = [] } = term?.data ?? {}
  // a cluster that was primary with this term before still has its signer
  if (active?.signer === undefined || known.some(one => one.key === active.signer)) return []
  const signers = [...known, createSignerEntry(record.data, active.signer)]
  const noted = term
    ? [replaceItem(term, term, { ...term.data, signers })]
    : createTermItems([active], [], clock.now(), record.data)
  return [...replaceFollowerKeyring(record, keyring, made.keyring), ...noted]
}

/**
 * Ends the promotion: deletes the operation token and the items that only a secondary needs, and wakes the worker that
 * notifies the other clusters.
 */
export const beginServingAsPrimary: OperationStep = async (run, id) => {
  const snapshot = await readPromotionAtStep(run, id, 'serve')
  if (!snapshot) return STEP_DONE
  return endPromotion(run, snapshot)
}

async function endPromotion(run: OperationRun, snapshot: PromotionSnapshot): Promise<OperationStepResult> {
  const { record, operation, promotion } = snapshot
  const { ports } = run
  const at = ports.clock.now()
  const { requestHmac, warnings, force, takenOver, end } = promotion
  await writeReplicationEvent(
    'promotion',
    operation.sk,
    record.data,
    { force, ...takenOver, handedOver: end !== undefined },
    ports,
  )
  const ended = await commitOperationStep(run, snapshot, { status: 'done', step: '' }, [
    replaceItem(record, record, withoutOperation(record.data)),
    putItem(key('promoted'), { operation: operation.sk, requestHmac, warnings, at }),
    // the step deletes the puller's lease, because the puller's last run does not release the lease and the next
    // run would wait for the lease's end
    ...[key('contact'), key('puller'), key('pending-key')].map(removeItem),
    revokeOperationToken(),
  ])
  // notify the other clusters at once, because the next round of notices comes up to a minute later
  if (ended === STEP_DONE) await ports.puller.wake().catch(() => undefined)
  return ended
}

/**
 * Gives up a promotion. Before the handover the promotion has changed nothing. After the handover the text of the
 * fault names both ways out, and this cluster continues as a secondary. After the take-over the function completes
 * the promotion instead.
 */
export const giveUpPromotion: OperationEnd = async (run, id, fault) => {
  const snapshot = await readEndingOperation(run, id)
  const { operation, record } = snapshot
  const { promotion, status } = operation.data
  if (!promotion || (status !== 'running' && record.data.operation !== id)) return STEP_DONE
  if (promotion.takenOver) return endPromotion(run, { ...snapshot, promotion })
  // another cluster was promoted since, so the promotion's fault says what to do
  const asked = promotion.handoverRequestedAt !== undefined && fault.code !== 'passed_over'
  const head = await run.ports.journal.head()
  if (head?.mode === 'draining' && !(await resumeApplying(run, head))) return STEP_AGAIN
  const over = asked
    ? { fault: { ...fault, code: 'busy', text: `${fault.text}; ${describeWaysOut(promotion)}` } as const }
    : { fault }
  const state = { ...promotion, ...(asked ? { outcome: 'handed-over-not-claimed' as const } : {}) }
  if (asked) run.ports.log.error('no takeover followed the handover', { operation: id, why: fault.text })
  const ended =
    record.data.operation === id ? [replaceItem(record, record, withFailedOperation(record.data, id))] : []
  return commitOperationStep(run, snapshot, { status: 'failed', promotion: state, ...over }, ended)
}

const describeWaysOut = ({ end }: PromotionSnapshot['promotion']): string =>
  `handed-over-not-claimed: the primary ${end ? 'has ended its journal' : 'may have ended its journal'} for this cluster, which has not taken over; either repeat the promotion of this cluster, with force if the primary is lost, or promote the old primary again with force`

/** Lets the cluster follow its primary again. */
const resumeApplying = async ({ ports: { journal } }: OperationRun, head: JournalHead): Promise<boolean> =>
  (await journal.moveHead(headMoves.resume(head))) !== 'refused'
