import { eachOf, hasTime, type JobResult, type JobRun } from '../jobs/job.ts'
import { type Change, erase, replace } from '../storage/changes.ts'
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

const PAGE = 200
const SEGMENTS = 4

/**
 * Removes what a disabled mount has left: its items, its entities, the tokens of its logins. Tokens are dead from
 * the moment of disabling, because their mount is gone; this frees their places. It may be broken off and
 * started again at any point.
 */
export async function removeMount(run: JobRun, job: { mount: string }): Promise<JobResult> {
  const again = { again: { job: 'remove-mount', ...job } }
  const erasing = async (changes: readonly Change[]): Promise<boolean> => {
    const cluster = await run.cluster()
    return cluster !== undefined && (await run.ports.store.commit(changes, cluster)) === 'done'
  }
  for (const kind of collections) {
    if (!(await emptied(run, kind, job.mount, erasing))) return again
  }
  const settings: Key[] = [
    key('client-config', job.mount),
    key('identity-config', job.mount),
    key('rotation', job.mount),
  ]
  await erasing(settings.map(erase))
  if (!(await tokensGone(run, job.mount, erasing))) return again
  return (await forget(run, job.mount)) ? 'done' : again
}

type Erasing = (changes: readonly Change[]) => Promise<boolean>

async function emptied(
  run: JobRun,
  kind: (typeof collections)[number],
  mount: string,
  erasing: Erasing,
): Promise<boolean> {
  const { store } = run.ports
  const { pks } = partitions(kind, mount)
  for (const pk of pks) {
    for (;;) {
      const page = await store.list<Kind>({ kind, pks: [pk] }, { limit: PAGE })
      if (page.length === 0) break
      const { failed } = await eachOf(page, item => erasing(withPointers(item).map(erase)))
      if (failed > 0 || !hasTime(run)) return false
    }
  }
  return true
}

const withPointers = (item: Item): Key[] =>
  item.kind === 'alias'
    ? [item, key('entity', item.data.entityId), key('alias-id', item.data.aliasId)]
    : [item]

async function tokensGone(run: JobRun, mount: string, erasing: Erasing): Promise<boolean> {
  for (let index = 0; index < SEGMENTS; index++) {
    for await (const page of run.ports.store.scan('token', { index, of: SEGMENTS })) {
      const { failed } = await eachOf(
        page.filter(item => item.data.mount === mount),
        item => erasing([erase(item)]),
      )
      if (failed > 0 || !hasTime(run)) return false
    }
  }
  return true
}

async function forget(run: JobRun, accessor: string): Promise<boolean> {
  const [table] = await run.ports.store.read([key('mounts')])
  const cluster = await run.cluster()
  if (!table || !cluster) return true
  const removing = table.data.removing.filter(mount => mount.accessor !== accessor)
  return (
    (await run.ports.store.commit([replace(key('mounts'), table, { ...table.data, removing })], cluster)) ===
    'done'
  )
}
