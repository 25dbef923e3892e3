import { ApiError } from '../../api/errors.ts'
import { hasTimeLeft, type JobResult, type JobRun } from '../../jobs/job.ts'
import { listPages } from '../../jobs/list-pages.ts'
import { type OrganizationConfig, type OrganizationMap, OWN_ACCOUNT } from '../../model/organization.ts'
import type { AwsTarget } from '../../ports.ts'
import { type Change, removeItem, replaceItem } from '../../storage/changes.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { isAssumableRole } from '../../values/arn.ts'
import { defined } from '../../values/defined.ts'
import { buildProviderSettings } from '../config/accounts.ts'
import { type PlannedPage, packAccounts, planNextPages, planParent, unpackAccounts } from './walk.ts'

/** The place from which a later run continues a round. */
export interface RoundProgress {
  organization: string
  pages: PlannedPage[]
  /** accounts that the round has seen, as `packAccounts` writes them */
  seen: string
  /** `read`: number of pages that the round has read; absent: an earlier version began the round */
  read?: number | undefined
}

export interface RoundPayload {
  mount: string
  /** `runner` of the round that goes on; absent: a new round */
  runner?: string | undefined
  progress?: RoundProgress | undefined
}

/** Organizations allows few calls; a round makes one call in this time. */
const CALL_MS = 200
const MOST_TRIES = 8
const LONGEST_PAUSE_MS = 30_000
const MOST_ACCOUNTS = 20_000
/** Pages of a round, and levels of units. AWS allows five levels; a round beyond these limits reads in circles. */
const MOST_PAGES = 20_000
const MOST_LEVELS = 10
/** Milliseconds for which a round keeps others away after the end of its run, until the next run has begun. */
const REST_MS = 120_000
/** Accounts that one commit deletes, and that one page of the stored accounts has. */
const DELETED_AT_ONCE = 20
const LISTED_AT_ONCE = 500

/**
 * Runs the job `organization`: reads the organization of a mount and stores the place of each account. Only
 * differences are written. Accounts that were not seen are deleted at the end of a complete round, the last of them
 * in the commit that moves `completedAt`. A cluster that does not serve requests makes no round.
 * @see docs/spec/configuration.md#organization
 */
export async function runOrganizationRound(run: JobRun, payload: RoundPayload): Promise<JobResult> {
  const { store, entropy, clock, log } = run.ports
  const { mount } = payload
  const cluster = await run.cluster()
  if (!cluster) return 'done'
  const [config, map] = await store.read([key('organization-config', mount), key('organization-map', mount)])
  if (!config || !map) return deleteAccounts(run, mount, undefined, new Set(), [])
  const runner = payload.runner ?? entropy.uuid()
  const { epoch } = cluster.record
  const isFree = !isRunning(map.data, epoch, clock.now())
  if (payload.runner ? !isHeldBy(map, runner) : !isFree) return 'done'
  const round = defined({ runner, until: run.deadline + REST_MS, epoch })
  if (!(await storeMap(run, map, { ...map.data, round }))) return 'done'
  try {
    return await continueRound(run, config.data, { ...payload, runner })
  } catch (error) {
    log.error('the round of an organization failed', { mount, cause: String(error) })
    await endRound(run, mount, runner, before => ({ ...before, lastError: faultOf(error) }))
    return 'done'
  }
}

/** Reports whether a round runs. The round of another epoch ended with the primary that it ran on. */
const isRunning = ({ round }: OrganizationMap, epoch: string | undefined, now: number): boolean =>
  round !== undefined && round.until > now && round.epoch === epoch

/** Returns the text of a fault for administrators; only AWS's error code is shown. */
const faultOf = (error: unknown): string =>
  error instanceof ApiError ? error.message : error instanceof RoundFault ? error.message : 'internal error'

class RoundFault extends Error {}

async function continueRound(
  run: JobRun,
  config: OrganizationConfig,
  { mount, runner, progress }: RoundPayload & { runner: string },
): Promise<JobResult> {
  const reader = await createPacedReader(run, mount, config)
  const {
    organization,
    pages,
    seen,
    read: before = 0,
  } = progress
    ? { ...progress, seen: unpackAccounts(progress.seen) }
    : { ...(await beginRound(reader)), seen: new Set<string>() }
  let left: readonly PlannedPage[] = pages
  let read = before
  for (let [page] = left; page; [page] = left) {
    const answer = hasTimeLeft(run) ? await reader.list(page) : undefined
    // the answer is old if the environment was frozen, and another round may have begun
    if (!answer || !hasTimeLeft(run))
      return {
        again: { mount, runner, progress: { organization, pages: left, seen: packAccounts(seen), read } },
      }
    read += 1
    if (page.what === 'accounts') {
      for (const id of answer.ids) seen.add(id)
      const places = { organization, path: page.path, ids: answer.ids }
      if (!(await storePlaces(run, mount, runner, places))) return 'done'
    }
    left = planNextPages([page, ...left.slice(1)], answer)
    checkSize({ accounts: seen.size, pages: read, levels: levelOf(left[0]) })
  }
  // an organization has its management account at least
  if (seen.size === 0) throw new RoundFault('AWS listed no account of the organization')
  return endRound(
    run,
    mount,
    runner,
    ({ lastError: _, ...before }) => ({
      ...before,
      organization,
      accounts: seen.size,
      completedAt: run.ports.clock.now(),
    }),
    seen,
  )
}

/** Returns the level of a page's parent: 0 for a root. */
const levelOf = (page: PlannedPage | undefined): number => (page?.path.split('/').length ?? 0) - 2

/** @throws RoundFault if the organization is larger than a map may be */
function checkSize(size: { accounts: number; pages: number; levels: number }): void {
  if (size.accounts > MOST_ACCOUNTS)
    throw new RoundFault(`the organization has more than ${MOST_ACCOUNTS} accounts`)
  if (size.pages > MOST_PAGES) throw new RoundFault(`the organization has more than ${MOST_PAGES} pages`)
  if (size.levels > MOST_LEVELS)
    throw new RoundFault(`the organization has units deeper than ${MOST_LEVELS} levels`)
}

type PacedReader = Awaited<ReturnType<typeof createPacedReader>>

/** Reports whether a call that failed may succeed when it is repeated. */
const isPassing = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'busy' || error.reason?.['why'] === 'provider-failed')

/** Creates a reader that makes five calls a second and repeats calls that AWS throttles or cannot answer. */
async function createPacedReader({ ports, deadline }: JobRun, mount: string, config: OrganizationConfig) {
  const { store, cipher, clock, organizations, deployment } = ports
  const [client] = await store.read([key('client-config', mount)])
  const settings = await buildProviderSettings(client, cipher)
  const { role, externalId } = config
  if (role !== '' && !isAssumableRole(deployment.assumableRoles, role))
    throw new RoundFault('this deployment is not allowed to assume role: widen its setting assumableRoleArns')
  const target: AwsTarget = {
    account: role === '' ? OWN_ACCOUNT : (role.split(':')[4] ?? ''),
    region: deployment.region,
    client: settings,
    ...(role === '' ? {} : { assume: { role, externalId } }),
  }
  let nextAt = 0
  /** Returns undefined if time runs out before AWS answers. */
  async function ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    for (let tries = 1; ; tries++) {
      await clock.sleep(Math.max(0, nextAt - clock.now()))
      nextAt = clock.now() + CALL_MS
      try {
        return await work()
      } catch (error) {
        if (!isPassing(error) || tries >= MOST_TRIES) throw error
        const pause = Math.min(1000 * 2 ** (tries - 1), LONGEST_PAUSE_MS)
        if (clock.now() + pause >= deadline) return undefined
        await clock.sleep(pause)
      }
    }
  }
  return {
    describe: () => ask(() => organizations.describe(target, deadline)),
    roots: () => ask(() => organizations.list(target, 'roots', '', undefined, deadline)),
    list: ({ what, parent, next }: PlannedPage) =>
      ask(() => organizations.list(target, what, parent, next, deadline)),
  }
}

async function beginRound(reader: PacedReader): Promise<{ organization: string; pages: PlannedPage[] }> {
  const organization = await reader.describe()
  const roots = await reader.roots()
  if (organization === undefined || roots === undefined)
    throw new RoundFault('AWS did not answer the first calls of the round')
  return { organization, pages: roots.ids.flatMap(id => planParent(id, `${organization}/${id}`)) }
}

/**
 * Reports whether a map still belongs to the round of a runner. Another round, a changed configuration and a disabled
 * mount take it away. Without a runner: whether the map is still deleted.
 */
const isHeldBy = (map: Item<'organization-map'> | undefined, runner: string | undefined): boolean =>
  runner === undefined ? map === undefined : map?.data.round?.runner === runner

/**
 * Stores the places of the accounts of one page in one commit, and leaves out places that are stored already.
 * @returns false if the round no longer holds the map; then nothing is stored
 */
async function storePlaces(
  run: JobRun,
  mount: string,
  runner: string,
  { organization, path, ids }: { organization: string; path: string; ids: readonly string[] },
): Promise<boolean> {
  const places = ids.map(id => key('organization-account', mount, id))
  const [map, ...stored] = await run.ports.store.read([key('organization-map', mount), ...places])
  if (!isHeldBy(map, runner)) return false
  const changes = places.flatMap((place, index) => {
    const item = stored[index]
    return item?.data.organization === organization && item.data.path === path
      ? []
      : [replaceItem(place, item, { organization, path })]
  })
  await commitAll(run, changes)
  return true
}

/** Commits changes. @throws RoundFault if this cluster no longer serves requests or an item has changed */
async function commitAll(run: JobRun, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return
  const cluster = await run.cluster()
  const outcome = cluster && (await run.ports.store.commit(changes, cluster))
  if (outcome !== 'done') throw new RoundFault('the map changed during the round')
}

async function storeMap(run: JobRun, map: Item<'organization-map'>, next: OrganizationMap): Promise<boolean> {
  const cluster = await run.cluster()
  return (
    cluster !== undefined && (await run.ports.store.commit([replaceItem(map, map, next)], cluster)) === 'done'
  )
}

/**
 * Ends the round of a runner, unless another round has begun.
 * @param seen deletes all other accounts; absent: deletes none
 */
async function endRound(
  run: JobRun,
  mount: string,
  runner: string,
  change: (before: OrganizationMap) => OrganizationMap,
  seen?: ReadonlySet<string>,
): Promise<JobResult> {
  const [map] = await run.ports.store.read([key('organization-map', mount)])
  if (!map || !isHeldBy(map, runner)) return 'done'
  const { round: _, ...before } = map.data
  const last = [replaceItem(map, map, change(before))]
  if (seen) return deleteAccounts(run, mount, runner, seen, last)
  await commitAll(run, last)
  return 'done'
}

/**
 * Deletes the stored accounts that a round did not find in the organization. Stops if another round begins, because that
 * round compares AWS's answers with the stored accounts.
 * @param runner of the round that ends; undefined: the map was deleted
 * @param last changes of the last commit
 */
async function deleteAccounts(
  run: JobRun,
  mount: string,
  runner: string | undefined,
  seen: ReadonlySet<string>,
  last: readonly Change[],
): Promise<JobResult> {
  const gone = (await listAccounts(run, mount)).filter(id => !seen.has(id))
  const changes = gone.map(id => removeItem(key('organization-account', mount, id)))
  for (let at = 0; at === 0 || at < changes.length; at += DELETED_AT_ONCE) {
    const [map] = await run.ports.store.read([key('organization-map', mount)])
    if (!isHeldBy(map, runner)) return 'done'
    const isLast = at + DELETED_AT_ONCE >= changes.length
    await commitAll(run, [...changes.slice(at, at + DELETED_AT_ONCE), ...(isLast ? last : [])])
  }
  return 'done'
}

async function listAccounts({ ports }: JobRun, mount: string): Promise<string[]> {
  const found: string[] = []
  const where = itemPartitions('organization-account', mount)
  for await (const { items } of listPages(ports, where, LISTED_AT_ONCE))
    found.push(...items.map(item => item.sk))
  return found
}
