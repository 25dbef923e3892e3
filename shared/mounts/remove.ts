import { ApiError } from '../api/errors.ts'
import { type ChangeGroup, commitEachGroup, countGroupOutcomes } from '../jobs/commit-each.ts'
import { hasTimeLeft, type JobResult, type JobRun, processEach } from '../jobs/job.ts'
import { listPages } from '../jobs/list-pages.ts'
import { type ScanPlace, scanAllItems, scanStartPlace } from '../jobs/scan.ts'
import type { Alias } from '../model/alias.ts'
import { accessorOfToken } from '../model/token.ts'
import type { ClusterRead } from '../ports.ts'
import { removeItem } from '../storage/changes.ts'
import {
  type Item,
  itemPartitions,
  type Key,
  type Kind,
  type KindDeletedWith,
  key,
  kindsDeletedWith,
} from '../storage/kinds.ts'
import { revokeDescendants } from '../tokens/descendants.ts'
import { splitIntoChunks } from '../values/batches.ts'
import { bounds } from '../values/bounds.ts'
import { storeMounts } from './store.ts'

/** The index entries of an alias, which are removed with it. */
const pointersTo = {
  entity: alias => key('entity', alias.entityId),
  'alias-id': alias => key('alias-id', alias.aliasId),
} satisfies { [K in KindDeletedWith<'alias'>]: (alias: Alias) => Key<K> }

const PAGE = 100
/** Number of logins removed between two checks of the remaining time. */
const PART = 20

/**
 * Removes what a disabled mount has left, by the table of kinds: its items, its entities, the tokens of its logins
 * with their descendants, and its wrapped responses. The tokens are already invalid, because their mount is gone;
 * this frees their storage. The job can stop and restart at any point. The job repeats the scan until a whole pass
 * finds no token, because an engine may skip items when other items are deleted between pages. The mount is
 * forgotten after a pass that began when no request could still write for it; before that, the hourly run starts
 * another pass.
 * @throws if something could not be removed, so that the job is retried, at last by the hourly run
 * @see docs/spec/mounts.md#disabling
 */
export async function removeMountData(
  run: JobRun,
  { mount, from = 0, at, found = 0, began = run.ports.clock.now() }: Removal,
): Promise<JobResult> {
  const kinds = kindsDeletedWith('mount')
  // a pass that continues its scan has removed these items already
  for (const [index, kind] of at ? [] : kinds.entries())
    if (index >= from && !(await emptyPartitions(run, kind, mount)))
      return { again: { mount, from: index, began } }
  let logins = found
  const left = await scanAllItems(run, kindsDeletedWith('login'), at ?? scanStartPlace, async items => {
    const own = items.filter(item => item.data.mount === mount)
    logins += own.length
    return removeLogins(run, own)
  })
  if (left) return { again: { mount, at: left, found: logins, began } }
  return logins > 0 ? { again: { mount } } : forget(run, mount, began)
}

/** The progress of a removal. */
interface Removal {
  mount: string
  /** number of kinds whose items this pass has removed */
  from?: number | undefined
  /** position where the scan continues */
  at?: ScanPlace | undefined
  /** number of logins that this pass has found so far */
  found?: number | undefined
  /** epoch milliseconds at which the pass began */
  began?: number | undefined
}

/** Removes logins. @returns false if no time is left */
async function removeLogins(
  run: JobRun,
  logins: readonly Item<KindDeletedWith<'login'>>[],
): Promise<boolean> {
  for (const part of splitIntoChunks(logins, PART)) {
    await removeChildren(run, part)
    const removed =
      hasTimeLeft(run) &&
      (await commitRemovals(
        run,
        part.map(item => [removeItem(item)]),
      ))
    if (!removed) return false
  }
  return true
}

/** Removes the descendants of tokens before the tokens, because without the token nothing leads to them. */
async function removeChildren(run: JobRun, logins: readonly Item<KindDeletedWith<'login'>>[]): Promise<void> {
  const cluster = () => serving(run)
  const tokens = logins.filter(item => item.kind === 'token')
  const { failed } = await processEach(tokens, async ({ data }) => {
    await revokeDescendants(accessorOfToken(data), run.ports, cluster, run.deadline, 'dead')
    return true
  })
  if (failed > 0) throw notRemoved(failed)
}

/**
 * Commits deletions, even of items that have changed since they were read.
 * @returns false if no time is left
 * @throws ApiError `busy` if some could not be removed
 */
async function commitRemovals(run: JobRun, groups: readonly ChangeGroup[]): Promise<boolean> {
  const { left, failed } = countGroupOutcomes(
    await commitEachGroup({ ...run, cluster: () => serving(run) }, groups),
  )
  // unconditional deletions cannot conflict, so if some are left in time, the cluster has changed its role
  if (failed > 0 || (left > 0 && hasTimeLeft(run))) throw notRemoved(left + failed)
  return left === 0
}

const notRemoved = (count: number): ApiError =>
  new ApiError('busy', `${count} items of a disabled mount could not be removed`)

async function serving(run: JobRun): Promise<ClusterRead> {
  const cluster = await run.cluster()
  if (!cluster) throw new ApiError('busy', 'this cluster no longer serves requests')
  return cluster
}

/** Removes the mount's items of a kind. @returns false if no time is left */
async function emptyPartitions(run: JobRun, kind: KindDeletedWith<'mount'>, mount: string): Promise<boolean> {
  for await (const { items } of listPages<Kind>(run.ports, itemPartitions(kind, mount), PAGE)) {
    const removed = await commitRemovals(
      run,
      items.map(item => withPointers(item).map(removeItem)),
    )
    if (!removed || !hasTimeLeft(run)) return false
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
