import { ApiError } from '../api/errors.ts'
import { commitEach, countOutcomes, type IndependentChanges } from '../jobs/commit-each.ts'
import { hasTime, type JobResult, type JobRun, processEach } from '../jobs/job.ts'
import { type ScanPlace, scanAll, scanStart } from '../jobs/scan.ts'
import type { Alias } from '../model/alias.ts'
import { accessorOfToken } from '../model/token.ts'
import type { ClusterRead } from '../ports.ts'
import { remove } from '../storage/changes.ts'
import {
  type Item,
  type Key,
  type Kind,
  type KindGoingWith,
  key,
  kindsGoingWith,
  partitions,
} from '../storage/kinds.ts'
import { sweepDescendants } from '../tokens/descendants.ts'
import { bounds } from '../values/bounds.ts'
import { storeMounts } from './store.ts'

/** An alias takes along what leads to it. */
const pointersTo = {
  entity: alias => key('entity', alias.entityId),
  'alias-id': alias => key('alias-id', alias.aliasId),
} satisfies { [K in KindGoingWith<'alias'>]: (alias: Alias) => Key<K> }

const PAGE = 100
/** Logins between two looks at the time. */
const PART = 20

/**
 * Removes what a disabled mount has left, as the table of kinds lists it: its items, its entities, the tokens of its
 * logins with all that was made by them, answers of it that wait to be unwrapped. Tokens are dead from the moment of
 * disabling, because their mount is gone; this frees their places. It may be broken off and started again at any
 * point. Tokens are looked for until a whole pass finds none: an engine may pass over items when others are deleted
 * between its pages. The mount is forgotten by a pass that began when nobody could write for it any more; where that is
 * not yet so, the hourly round starts another.
 * @throws when something could not be removed: the job is tried again, at last by the hourly round
 * @see docs/spec/mounts.md#disabling
 */
export async function removeMount(
  run: JobRun,
  { mount, at, found = 0, began = run.ports.clock.now() }: Removal,
): Promise<JobResult> {
  for (const kind of kindsGoingWith('mount'))
    if (!(await emptyPartition(run, kind, mount))) return { again: { mount } }
  let logins = found
  const left = await scanAll(run, kindsGoingWith('login'), at ?? scanStart, async items => {
    const own = items.filter(item => item.data.mount === mount)
    logins += own.length
    return removeLogins(run, own)
  })
  if (left) return { again: { mount, at: left, found: logins, began } }
  return logins > 0 ? { again: { mount } } : forget(run, mount, began)
}

/** What is left to do of a removal. */
interface Removal {
  mount: string
  /** where the pass goes on */
  at?: ScanPlace | undefined
  /** logins that the pass has found so far */
  found?: number | undefined
  /** epoch milliseconds, when the pass began */
  began?: number | undefined
}

/** @returns false when time is out */
async function removeLogins(run: JobRun, logins: readonly Item<KindGoingWith<'login'>>[]): Promise<boolean> {
  for (let at = 0; at < logins.length; at += PART) {
    const part = logins.slice(at, at + PART)
    await removeChildren(run, part)
    const removed =
      hasTime(run) &&
      (await commitRemovals(
        run,
        part.map(item => [remove(item)]),
      ))
    if (!removed) return false
  }
  return true
}

/** What stands beside a token goes before it: once the token is gone, nothing leads there. */
async function removeChildren(run: JobRun, logins: readonly Item<KindGoingWith<'login'>>[]): Promise<void> {
  const cluster = () => serving(run)
  const tokens = logins.filter(item => item.kind === 'token')
  const { failed } = await processEach(tokens, async ({ data }) => {
    await sweepDescendants(accessorOfToken(data), run.ports, cluster, run.deadline, 'dead')
    return true
  })
  if (failed > 0) throw notRemoved(failed)
}

/**
 * Commits the deletions, whatever the items have become since they were read.
 * @returns false when time is out
 * @throws ApiError `busy` when some could not be removed
 */
async function commitRemovals(run: JobRun, groups: readonly IndependentChanges[]): Promise<boolean> {
  const { left, failed } = countOutcomes(await commitEach({ ...run, cluster: () => serving(run) }, groups))
  // the deletions expect nothing: if some are left although there is time, the cluster has changed its role
  if (failed > 0 || (left > 0 && hasTime(run))) throw notRemoved(left + failed)
  return left === 0
}

const notRemoved = (count: number): ApiError =>
  new ApiError('busy', `${count} items of a disabled mount could not be removed`)

async function serving(run: JobRun): Promise<ClusterRead> {
  const cluster = await run.cluster()
  if (!cluster) throw new ApiError('busy', 'this cluster no longer serves requests')
  return cluster
}

/** @returns false when time is out */
async function emptyPartition(run: JobRun, kind: KindGoingWith<'mount'>, mount: string): Promise<boolean> {
  for (const pk of partitions(kind, mount).pks) {
    for (let more = true; more; ) {
      const page = await run.ports.store.list<Kind>({ kind, pks: [pk] }, { limit: PAGE })
      const removed = await commitRemovals(
        run,
        page.map(item => withPointers(item).map(remove)),
      )
      if (!removed || !hasTime(run)) return false
      more = page.length === PAGE
    }
  }
  return true
}

const withPointers = (item: Item): Key[] =>
  item.kind === 'alias' ? [item, ...Object.values(pointersTo).map(keyOf => keyOf(item.data))] : [item]

async function forget(run: JobRun, accessor: string, began: number): Promise<JobResult> {
  const { store } = run.ports
  const [table] = await store.read([key('mounts')])
  const disabled = table?.data.removing.find(mount => mount.accessor === accessor)
  if (!table || !disabled || !(began >= disabled.disabledAt + bounds.LATE_WRITE_WAIT_MS)) return 'done'
  const removing = table.data.removing.filter(mount => mount !== disabled)
  const changes = storeMounts(table, { ...table.data, removing })
  return (await store.commit(changes, await serving(run))) === 'done'
    ? 'done'
    : { again: { mount: accessor } }
}
