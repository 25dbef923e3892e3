import type { ClusterRecord } from '../model/cluster.ts'
import type { Ports } from '../ports.ts'
import { formatTime } from '../values/time.ts'

/** A replication event: a change of a cluster's role in its set, or a change of a member of the set. */
export type ReplicationEvent =
  | 'primary-enabled'
  | 'primary-disabled'
  | 'primary-closed'
  | 'secondary-disabled'
  | 'revocation'
  | 'admission'
  | 'activation'
  | 'wipe'
  | 'claim'
  | 'promotion'
  | 'divergence'
  | 'reencrypted'
  | 'terms-destroyed'
  | 'terms-dropped'

/**
 * Writes a replication event to this cluster's audit log. The request that caused the event has its own entries.
 * @param operation id of the role change, or of the request
 * @param facts names and positions, no secrets
 */
export const writeReplicationEvent = (
  event: ReplicationEvent,
  operation: string,
  record: Pick<ClusterRecord, 'id' | 'set' | 'epoch'>,
  facts: Readonly<Record<string, unknown>>,
  { audit, clock }: Pick<Ports, 'audit' | 'clock'>,
): Promise<void> =>
  audit.write({
    audit: 'replication',
    time: formatTime(clock.now()),
    event,
    operation,
    cluster: record.id,
    ...(record.set === undefined ? {} : { set: record.set }),
    ...(record.epoch === undefined ? {} : { epoch: record.epoch }),
    ...facts,
  })
