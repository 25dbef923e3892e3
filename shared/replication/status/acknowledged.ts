import { lastPosition } from '../../journal/head.ts'
import { epochAt, type JournalLineage, type JournalPosition } from '../../journal/position.ts'
import { listSecondaries } from '../../link/admin/secondaries.ts'
import type { Secondary } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { ok, PENDING_RESULT } from '../../values/result.ts'
import { pollWhilePending } from '../../values/retrying.ts'

const ACKNOWLEDGED_PAUSE_MS = 500

/** Returns the connected secondaries that have not acknowledged a position. */
export const listSecondariesBehind = (
  all: readonly Secondary[],
  { epoch, seq }: JournalPosition,
  now: number,
): Secondary[] =>
  all.filter(
    ({ heartbeat }) =>
      heartbeat !== undefined &&
      now - heartbeat.at < bounds.PEER_LOST_MS &&
      (heartbeat.epoch !== epoch || heartbeat.seq < seq),
  )

export type AcknowledgementPorts = Pick<Ports, 'store' | 'journalView' | 'clock'>

/** The secondaries of a primary, by whether they have acknowledged a position. */
export interface Acknowledgements {
  acknowledged: readonly Secondary[]
  missing: readonly Secondary[]
}

/** Reports whether a cluster has used this admission. An unused activation token belongs to no cluster. */
export const isActiveSecondary = ({
  activatedAt,
  heartbeat,
}: Pick<Secondary, 'activatedAt' | 'heartbeat'>): boolean =>
  activatedAt !== undefined || heartbeat !== undefined

/**
 * Reports whether a secondary has acknowledged a position. @param journal the journal of that position; a heartbeat from a
 * diverged journal does not count
 */
export const hasAcknowledgedPosition = (
  { heartbeat }: Pick<Secondary, 'heartbeat'>,
  seq: number,
  { lineage }: { lineage: JournalLineage },
): boolean =>
  heartbeat !== undefined &&
  heartbeat.epoch !== '' &&
  heartbeat.seq >= seq &&
  epochAt(lineage, heartbeat.seq) === heartbeat.epoch

/**
 * Waits until every connected secondary has acknowledged the latest commit, because commits that only this cluster
 * has are lost if this cluster is lost.
 * @param patience longest wait in milliseconds
 */
export async function awaitAcknowledgements(
  { store, journalView, clock }: AcknowledgementPorts,
  patience: number,
): Promise<Acknowledgements> {
  const [record] = await store.read([key('cluster')])
  const none = { acknowledged: [], missing: [] }
  if (record?.data.mode !== 'primary') return none
  const { head } = await journalView.readStatus(undefined)
  if (!head) return none
  let all: Secondary[] = []
  await pollWhilePending(
    clock,
    { everyMs: ACKNOWLEDGED_PAUSE_MS, until: clock.now() + patience },
    async () => {
      all = listSecondaries(await store.list(itemPartitions('secondary')), record.data).filter(
        isActiveSecondary,
      )
      return listSecondariesBehind(all, lastPosition(head), clock.now()).length === 0 ? ok() : PENDING_RESULT
    },
  )
  const acknowledged = all.filter(one => hasAcknowledgedPosition(one, head.last, head))
  return { acknowledged, missing: all.filter(one => !acknowledged.includes(one)) }
}

/**
 * Waits for acknowledgements, and reports whether all connected secondaries have acknowledged; true if no secondary
 * is connected.
 */
export const awaitAllAcknowledged = async (
  ports: AcknowledgementPorts,
  patience: number,
): Promise<boolean> => {
  const { missing } = await awaitAcknowledgements(ports, patience)
  const now = ports.clock.now()
  return missing.every(
    ({ heartbeat }) => heartbeat === undefined || now - heartbeat.at >= bounds.PEER_LOST_MS,
  )
}
