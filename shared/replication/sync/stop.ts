import type { Head } from '../../journal/head.ts'
import { epochNumber } from '../../journal/position.ts'
import { moves } from '../../journal/transitions.ts'
import type { Own } from '../apply/target.ts'
import { openSegments, readSegments } from './segments.ts'

/**
 * Ends a sync that nobody can go on with, wherever it is: from here on none of its writes is accepted, however late it
 * comes. What it has touched stays noted in the head.
 * @returns the head, still `syncing`, under a hold of its own; undefined when somebody else has changed it
 */
export async function stopSync(own: Own, treeId: string, head: Head): Promise<Head | undefined> {
  // what it has fetched may be of epochs that no journal entry here is of
  const lines = (await readSegments(own)).flatMap(({ data }) => data?.lineage ?? [])
  const n = Math.max(head.maxEpoch, ...lines.map(([epoch]) => epochNumber(epoch)))
  const moved = await own.journal.moveHead(moves.stopSync(head, n))
  if (moved === 'refused') return undefined
  // of no lineage: nobody takes it for a sync to go on with
  const segments = await openSegments(own, {
    ...{ incarnation: moved.incarnation, treeId, what: 'touched', start: head.last, lineage: [] },
    ...{ phase: 'closed', seen: 0 },
  })
  return segments === 'lost' ? undefined : moved
}
