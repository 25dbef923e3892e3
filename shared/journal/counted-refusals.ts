import type { ApiError } from '../api/errors.ts'
import type { Ports } from '../ports.ts'
import { formatTime } from '../values/time.ts'

/**
 * Milliseconds between two log entries of one kind of refusal. Refusals are counted, because anybody can cause any
 * number of refusals, and an entry for each could fill the log.
 */
const REFUSALS_PERIOD_MS = 10_000

/** The reason of refusals because of the cluster's role. */
export const REFUSED_BY_ROLE = 'cluster-role'
export const isRoleRefusal = ({ reason }: ApiError): boolean => reason?.['why'] === REFUSED_BY_ROLE

/** The reason of refusals of activation tokens and fences by the link. */
export const REFUSED_BY_LINK = 'link'

type Why = typeof REFUSED_BY_ROLE | typeof REFUSED_BY_LINK

type Dependencies = Pick<Ports, 'memory' | 'audit' | 'clock'>

/**
 * Counts a refusal of a request. The log gets the first refusal of a reason at once, and later refusals in one
 * entry per ten seconds.
 * @param operation one of a few names; each name has its own count
 */
export async function countRefusal(why: Why, operation: string, ports: Dependencies): Promise<void> {
  ports.memory.refusals ??= new Map()
  const { loggedAt, counts } = ports.memory.refusals.get(why) ?? { loggedAt: 0, counts: new Map() }
  counts.set(operation, (counts.get(operation) ?? 0) + 1)
  ports.memory.refusals.set(why, { loggedAt, counts })
  await logRefusalCounts(ports)
}

/**
 * Logs the counts, unless the last entry is less than ten seconds old. Every request of an environment calls this
 * function, so that counts are logged even if no refusal follows.
 */
export async function logRefusalCounts({ memory, audit, clock }: Dependencies): Promise<void> {
  const now = clock.now()
  for (const [why, { loggedAt, counts }] of memory.refusals ?? []) {
    if (counts.size === 0 || now - loggedAt < REFUSALS_PERIOD_MS) continue
    memory.refusals?.set(why, { loggedAt: now, counts: new Map() })
    await audit.write({
      audit: 'refusals',
      time: formatTime(now),
      ...(loggedAt === 0 ? {} : { after: formatTime(loggedAt) }),
      reason: { why },
      counts: Object.fromEntries(counts),
    })
  }
}
