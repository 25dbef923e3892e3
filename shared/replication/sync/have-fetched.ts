import type { Place } from '../../journal/journal.ts'
import { moves } from '../../journal/transitions.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { reportParts } from './report.ts'
import { reportName, storeReport } from './store-report.ts'

/**
 * Writes down keys whose items are not as the primary has them; whoever follows it fetches them, before anything else
 * is applied.
 * @returns `busy` while a sync is under way
 */
export async function haveFetched(
  { journal, store, clock, entropy }: Pick<Ports, 'journal' | 'store' | 'clock' | 'entropy'>,
  cluster: ClusterRead,
  places: readonly Place[],
): Promise<'done' | 'busy'> {
  const head = await journal.head()
  if (head?.mode !== 'applying' || head.replayUntil > 0 || head.unfinishedSync !== null) return 'busy'
  const facts = { at: clock.now(), epoch: head.epoch, forkPoint: head.applied }
  const report = reportName(head.incarnation + 1, entropy.bytes(3))
  await storeReport(store, cluster, report, reportParts(facts, [], places))
  const moved = await journal.moveHead(moves.requestSync(head, report))
  return moved === 'refused' ? 'busy' : 'done'
}
