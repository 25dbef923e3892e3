import { ApiError } from '../api/errors.ts'
import { eachOf, hasTime, type JobResult, type JobRun } from '../jobs/job.ts'
import { fromTheBeginning, type ScanPlace, scanAll } from '../jobs/scan.ts'
import type { ClusterRead } from '../ports.ts'
import { erase, replace } from '../storage/changes.ts'
import { type Item, type Key, type Kind, key, partitions } from '../storage/kinds.ts'

/** Collections of a mount, in the order of their removal; aliases take their pointers with them. */
const collections = [
  'access',
  'deny',
  'alias',
  'role',
  'certificate',
  'sts-role',
  'tidy-settings',
  'tidy-run',
  'tidy-stamp',
] as const satisfies readonly Kind[]

const PAGE = 100

/**
 * Removes what a disabled mount has left: its items, its entities, the tokens of its logins. Tokens are dead from
 * the moment of disabling, because their mount is gone; this frees their places. It may be broken off and
 * started again at any point. Tokens are looked for until a whole pass finds none: an engine may pass over items
 * when others are deleted between its pages.
 * @throws when something could not be removed: the job is tried again, at last by the hourly round
 */
export async function removeMount(
  run: JobRun,
  { mount, at, found = 0 }: { mount: string; at?: ScanPlace | undefined; found?: number | undefined },
): Promise<JobResult> {
  for (const kind of collections) if (!(await emptied(run, kind, mount))) return { again: { mount } }
  const settings: Key[] = [key('client-config', mount), key('identity-config', mount), key('rotation', mount)]
  await erased(run, settings)
  let tokens = found
  const left = await scanAll(run, 'token', at ?? fromTheBeginning, async items => {
    const own = items.filter(item => item.data.mount === mount)
    tokens += own.length
    await eachErased(
      run,
      own.map(item => [item]),
    )
  })
  if (left) return { again: { mount, at: left, found: tokens } }
  return tokens > 0 ? { again: { mount } } : forget(run, mount)
}

async function erased(run: JobRun, keys: readonly Key[]): Promise<true> {
  await run.ports.store.commit(keys.map(erase), await serving(run))
  return true
}

async function serving(run: JobRun): Promise<ClusterRead> {
  const cluster = await run.cluster()
  if (!cluster) throw new ApiError('busy', 'this cluster does not serve any more')
  return cluster
}

async function eachErased(run: JobRun, items: readonly (readonly Key[])[]): Promise<void> {
  const { failed } = await eachOf(items, keys => erased(run, keys))
  if (failed > 0) throw new ApiError('busy', `${failed} items of a disabled mount could not be removed`)
}

/** @returns false when time is out */
async function emptied(run: JobRun, kind: (typeof collections)[number], mount: string): Promise<boolean> {
  for (const pk of partitions(kind, mount).pks) {
    for (let more = true; more; ) {
      const page = await run.ports.store.list<Kind>({ kind, pks: [pk] }, { limit: PAGE })
      await eachErased(run, page.map(withPointers))
      if (!hasTime(run)) return false
      more = page.length === PAGE
    }
  }
  return true
}

const withPointers = (item: Item): Key[] =>
  item.kind === 'alias'
    ? [item, key('entity', item.data.entityId), key('alias-id', item.data.aliasId)]
    : [item]

async function forget(run: JobRun, accessor: string): Promise<JobResult> {
  const { store } = run.ports
  const [table] = await store.read([key('mounts')])
  if (!table) return 'done'
  const removing = table.data.removing.filter(mount => mount.accessor !== accessor)
  const change = replace(key('mounts'), table, { ...table.data, removing })
  return (await store.commit([change], await serving(run))) === 'done'
    ? 'done'
    : { again: { mount: accessor } }
}
