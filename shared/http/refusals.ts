import type { ApiError } from '../api/errors.ts'
import type { Ports } from '../ports.ts'
import { printTime } from '../values/time.ts'

/**
 * Milliseconds between entries. Strangers can cause refusals without end: with an entry for each they could fill the
 * log.
 */
const EVERY_MS = 10_000

/** Whether a request was refused for the role of the cluster: the gate says so in the reason. */
export const isByRole = ({ reason }: ApiError): boolean => reason?.['why'] === BY_ROLE
export const BY_ROLE = 'cluster-role'

type Dependencies = Pick<Ports, 'memory' | 'audit' | 'clock'>

/** Counts a refusal. The audit log gets the first one at once, and what follows in one entry for ten seconds. */
export async function countRefusal(operation: string, ports: Dependencies): Promise<void> {
  ports.memory.refusals ??= { toldAt: 0, counts: new Map() }
  const { counts } = ports.memory.refusals
  counts.set(operation, (counts.get(operation) ?? 0) + 1)
  await tellRefusals(ports)
}

/**
 * Writes what has been counted, unless the last entry is less than ten seconds old. Called by every request of an
 * environment, so that counts do not wait for another refusal.
 */
export async function tellRefusals({ memory, audit, clock }: Dependencies): Promise<void> {
  const { refusals } = memory
  const now = clock.now()
  if (!refusals || refusals.counts.size === 0 || now - refusals.toldAt < EVERY_MS) return
  const told = refusals.counts
  memory.refusals = { toldAt: now, counts: new Map() }
  const after = refusals.toldAt === 0 ? {} : { after: printTime(refusals.toldAt) }
  await audit.write({
    audit: 'refusals',
    time: printTime(now),
    ...after,
    reason: { why: BY_ROLE },
    counts: Object.fromEntries(told),
  })
}
