import type { OperationRun } from '../../../shared/replication/operation/run.ts'
import { type Member, memberAs } from './pair.ts'

/**
 * Returns a run of a role change at a cluster, without a time limit.
 * @param watched wraps the ports of the tables
 */
export function operationRunAt(
  at: Member,
  watched: <T extends object>(port: T) => T,
  { connect, audit, wake }: Pick<OperationRun, 'connect'> & OperationRunReports,
): OperationRun {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const { store, journal, cipher, keyFactory, clock, entropy } = memberAs(at, 'on-operation')
  return {
    ports: {
      store: watched(store),
      journal: watched(journal),
      cipher,
      keyFactory,
      clock,
      entropy,
      log,
      audit: { write: async entry => audit(entry) },
      deployment: { apiAddress: '', version: '1' } as OperationRun['ports']['deployment'],
      background: { start: async () => undefined },
      puller: { wake: async () => wake() },
    },
    connect,
    deadline: Number.POSITIVE_INFINITY,
  }
}

interface OperationRunReports {
  audit: (entry: Record<string, unknown>) => void
  wake: () => void
}
