import { writeReplicationEvent } from '../../journal/events.ts'
import type { JournalHead } from '../../journal/head.ts'
import type { TransactionElement } from '../../journal/journal.ts'
import { type Epoch, epochNumber, formatEpoch, positionText } from '../../journal/position.ts'
import { makeRoleEventChange } from '../../journal/role-event.ts'
import { toTransactionElements } from '../../journal/to-elements.ts'
import { headMoves } from '../../journal/transitions.ts'
import { renewSetMembership } from '../../link/admin/keys.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { PromotionState } from '../../model/operation.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { journalEndsDifferError, noLongerSecondaryError, syncStartedError } from '../operation/faults.ts'
import { type OperationRun, type OperationStep, STEP_AGAIN, STEP_DONE } from '../operation/run.ts'
import { createFollower } from '../secondary/follower.ts'
import { prepareHeadForTakeOver } from './ready-head.ts'
import { type PromotionSnapshot, readPromotionAtStep } from './step.ts'

/**
 * Takes over: one transaction opens a new epoch in the head, changes the record's mode to primary, and stores the event of
 * the role change.
 */
export const takeOverAsPrimary: OperationStep = async (run, id) => {
  const snapshot = await readPromotionAtStep(run, id, 'claim')
  if (!snapshot) return STEP_DONE
  const { ports } = run
  const follower = await createFollower(ports, run.connect, {
    hasTime: () => ports.clock.now() < run.deadline,
  })
  if (!follower) throw noLongerSecondaryError()
  const ready = await prepareHeadForTakeOver(ports, follower, snapshot)
  if (!ready) return STEP_AGAIN
  checkJournalIsWhole(ready.head, snapshot.promotion)
  return commitTakeOver(run, snapshot, ready.head, ready.warnings)
}

/** Checks that nothing is missing, unless force is set. @throws OperationFailed */
export function checkJournalIsWhole(
  {
    unfinishedSync,
    replayUntil,
    last,
    epoch,
  }: Pick<JournalHead, 'unfinishedSync' | 'replayUntil' | 'last' | 'epoch'>,
  { force, end }: Pick<PromotionState, 'force' | 'end'>,
): void {
  if (force) return
  if (unfinishedSync !== null || replayUntil > 0) throw syncStartedError()
  if (end && (end.seq !== last || end.epoch !== epoch))
    throw journalEndsDifferError(positionText(end), positionText({ epoch, seq: last }))
}

async function commitTakeOver(
  run: OperationRun,
  snapshot: PromotionSnapshot,
  head: JournalHead,
  warnings: readonly string[],
): Promise<typeof STEP_DONE | typeof STEP_AGAIN> {
  const { ports } = run
  const { record, operation, promotion } = snapshot
  const { last: seq, epoch: last } = head
  const [contact] = await ports.store.read([key('contact')])
  const epoch = computeNextEpoch(head, [promotion.end?.closedEpoch, contact?.data.epoch], record.data.id)
  const membership = await renewSetMembership(ports, record.data, epoch)
  const lost = countLost(promotion, contact?.data.seq, seq)
  const place = { epoch: last, seq }
  const next: ClusterRecord = defined({
    ...record.data,
    mode: 'primary' as const,
    modeSince: ports.clock.now(),
    epoch,
    treeComplete: true,
    link: membership.link,
    promotions: epochNumber(epoch) - 1,
    clusterAddr: promotion.address || record.data.clusterAddr,
    homeTable: ports.deployment.home,
  })
  const state = {
    ...operation.data,
    step: 'open',
    changedAt: ports.clock.now(),
    position: positionText({ epoch, seq }),
    promotion: {
      ...promotion,
      takenOver: { epoch, seq },
      warnings: [...promotion.warnings, ...warnings, ...missingWarnings(promotion, lost)],
    },
  }
  const event = makeRoleEventChange(
    { from: record.data, to: next, position: positionText(place), operation: operation.sk, lost },
    ports.clock.now(),
  )
  const { force } = promotion
  await writeReplicationEvent(
    'claim',
    operation.sk,
    next,
    { position: positionText(place), force, lost },
    ports,
  )
  const elements: TransactionElement[] = [
    { kind: 'head', head: headMoves.takeOver(head, epoch) },
    ...toTransactionElements(
      [replaceItem(record, record, next), replaceItem(operation, operation, state), event],
      ports.entropy,
    ),
    membership.member,
  ]
  const result = await ports.journal.transact(elements)
  if (result === 'done') return STEP_DONE
  await ports.clock.sleep(50)
  return STEP_AGAIN
}

/**
 * Returns the epoch in which a cluster takes over. The number of the new epoch is higher than all epoch numbers
 * that this cluster has seen. A closed primary also skips the number of its successor, which may have taken over
 * without this cluster's knowledge.
 */
export function computeNextEpoch(
  { maxEpoch, mode, epoch, successor }: Pick<JournalHead, 'maxEpoch' | 'mode' | 'epoch' | 'successor'>,
  seen: readonly (Epoch | undefined)[],
  cluster: string,
): Epoch {
  const ofSuccessor = mode === 'closed' && successor !== '' ? epochNumber(epoch) + 1 : 0
  return formatEpoch(
    Math.max(maxEpoch, ofSuccessor, ...seen.map((one = '') => epochNumber(one))) + 1,
    cluster,
  )
}

const missingWarnings = ({ end }: PromotionState, lost: number | null): string[] =>
  end && lost
    ? [
        `overridden by force: the last ${lost} positions of the primary’s journal did not arrive: this cluster lacks their changes`,
      ]
    : []

/** Returns how many positions beyond this cluster's last position the primary is known to have had; null: unknown. */
function countLost({ end }: PromotionState, heard: number | undefined, seq: number): number | null {
  if (end) return Math.max(0, end.seq - seq)
  return heard !== undefined && heard > seq ? heard - seq : null
}
