import { recordKeepsJournal } from '../model/cluster.ts'
import type { ClusterRead, Ports } from '../ports.ts'
import type { Change } from '../storage/changes.ts'

/** Changes that are committed together. Groups are independent of each other. */
export type ChangeGroup = readonly Change[]

/** The context in which groups are committed. */
export interface GroupCommitContext {
  ports: Pick<Ports, 'store' | 'clock'>
  /** returns a recent cluster record for commits; undefined if this cluster no longer serves requests */
  cluster: () => Promise<ClusterRead | undefined>
  /** epoch milliseconds after which no commit begins */
  deadline: number
}

/** The number of groups by outcome. */
export interface GroupOutcomeCounts {
  done: number
  /** not written: an item had changed, the cluster no longer serves requests, or time was up */
  left: number
  failed: number
}

/** The outcome of a group. `left`: nothing was written. A failed group may have been written. */
export type GroupOutcome = PromiseSettledResult<'done' | 'left'>

/** Limits while a journal is kept, because every commit takes one of the set's positions, of which there are about 900 per second. */
const JOURNALED = { changes: 20, perSecond: 15 }
const AT_ONCE = 16

const LEFT: GroupOutcome = { status: 'fulfilled', value: 'left' }

/**
 * Commits independent groups of changes, sixteen at a time. While a journal is kept it puts several groups into one
 * commit and limits the commits per second. If such a commit fails, its groups are committed one by one. A failed
 * group does not stop the other groups.
 * @returns the outcome of each group, in order
 */
export async function commitEachGroup(
  committing: GroupCommitContext,
  groups: readonly ChangeGroup[],
): Promise<GroupOutcome[]> {
  const { ports, cluster, deadline } = committing
  const outcomes: GroupOutcome[] = []
  while (outcomes.length < groups.length) {
    const read = ports.clock.now() < deadline ? await cluster() : undefined
    if (!read) return [...outcomes, ...groups.slice(outcomes.length).map(() => LEFT)]
    const rest = groups.slice(outcomes.length)
    const step = recordKeepsJournal(read.record)
      ? batched(committing, rest.slice(0, countGroupsPerCommit(rest, JOURNALED.changes)), read)
      : Promise.allSettled(rest.slice(0, AT_ONCE).map(group => committed(committing, group, read)))
    outcomes.push(...(await step))
  }
  return outcomes
}

export const countGroupOutcomes = (outcomes: readonly GroupOutcome[]): GroupOutcomeCounts => ({
  done: outcomes.filter(one => one.status === 'fulfilled' && one.value === 'done').length,
  left: outcomes.filter(one => one.status === 'fulfilled' && one.value === 'left').length,
  failed: outcomes.filter(one => one.status === 'rejected').length,
})

/**
 * Returns how many of the first groups fit into one commit: at least one, and no item twice.
 * @param most maximum number of changes
 */
export function countGroupsPerCommit(groups: readonly ChangeGroup[], most: number): number {
  const taken = new Set<string>()
  for (const [index, group] of groups.entries()) {
    const places = group.map(change => `${change.key.pk}\n${change.key.sk}`)
    if (index > 0 && (taken.size + places.length > most || places.some(place => taken.has(place))))
      return index
    for (const place of places) taken.add(place)
  }
  return groups.length
}

async function batched(
  committing: GroupCommitContext,
  groups: readonly ChangeGroup[],
  read: ClusterRead,
): Promise<GroupOutcome[]> {
  if (groups.length > 1) {
    const [all] = await Promise.allSettled([paced(committing, groups.flat(), read)])
    if (all?.status === 'fulfilled' && all.value === 'done') return groups.map(() => all)
  }
  const outcomes: GroupOutcome[] = []
  for (const group of groups) {
    const [one = LEFT] = await Promise.allSettled([paced(committing, group, read)])
    outcomes.push(one)
  }
  return outcomes
}

/** Commits changes, then waits until the next commit may begin. */
async function paced(
  committing: GroupCommitContext,
  changes: ChangeGroup,
  read: ClusterRead,
): Promise<'done' | 'left'> {
  const { clock } = committing.ports
  const next = clock.now() + Math.ceil(1000 / JOURNALED.perSecond)
  try {
    return await committed(committing, changes, read)
  } finally {
    await clock.sleep(Math.max(0, next - clock.now()))
  }
}

async function committed(
  { ports }: GroupCommitContext,
  changes: ChangeGroup,
  read: ClusterRead,
): Promise<'done' | 'left'> {
  return (await ports.store.commit(changes, read)) === 'done' ? 'done' : 'left'
}
