import { ApiError } from '../../api/errors.ts'
import { hasTimeLeft, type JobResult, type JobRun } from '../../jobs/job.ts'
import { listPages } from '../../jobs/list-pages.ts'
import { type OrganizationConfig, type OrganizationMap, OWN_ACCOUNT } from '../../model/organization.ts'
import type { AwsTarget } from '../../ports.ts'
import { type Change, removeItem, replaceItem } from '../../storage/changes.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { isAssumableRole } from '../../values/arn.ts'
import { buildProviderSettings } from '../config/accounts.ts'
import { type PlannedPage, packAccounts, planNextPages, planParent, unpackAccounts } from './walk.ts'

/** The place from which a later run continues a round. */
export interface RoundProgress {
  organization: string
  pages: PlannedPage[]
  /** accounts that the round has seen, as `packAccounts` writes them */
  seen: string
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
  if (!(await run.cluster())) return 'done'
  const [config, map] = await store.read([key('organization-config', mount), key('organization-map', mount)])
  if (!config || !map) return deleteAccounts(run, mount, new Set(), [])
  const runner = payload.runner ?? entropy.uuid()
  const held = map.data.round
  if (payload.runner ? held?.runner !== runner : held && held.until > clock.now()) return 'done'
  if (!(await storeMap(run, map, { ...map.data, round: { runner, until: run.deadline + REST_MS } })))
    return 'done'
  try {
    return await continueRound(run, config.data, { ...payload, runner })
  } catch (error) {
    log.error('the round of an organization failed', { mount, cause: String(error) })
    await endRound(run, mount, runner, before => ({ ...before, lastError: faultOf(error) }))
    return 'done'
  }
}

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
  const { organization, pages, seen } = progress
    ? { ...progress, seen: unpackAccounts(progress.seen) }
    : { ...(await beginRound(reader)), seen: new Set<string>() }
  let left: readonly PlannedPage[] = pages
  for (let [page] = left; page; [page] = left) {
    const answer = hasTimeLeft(run) ? await reader.list(page) : undefined
    if (!answer)
      return { again: { mount, runner, progress: { organization, pages: left, seen: packAccounts(seen) } } }
    if (page.what === 'accounts') {
      for (const id of answer.ids) seen.add(id)
      if (seen.size > MOST_ACCOUNTS)
        throw new RoundFault(`the organization has more than ${MOST_ACCOUNTS} accounts`)
      await storePlaces(run, mount, organization, page.path, answer.ids)
    }
    left = planNextPages([page, ...left.slice(1)], answer)
  }
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

type PacedReader = Awaited<ReturnType<typeof createPacedReader>>

/** Creates a reader that makes five calls a second and repeats throttled calls. */
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
  /** Returns undefined if time runs out while AWS throttles. */
  async function ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    for (let tries = 1; ; tries++) {
      await clock.sleep(Math.max(0, nextAt - clock.now()))
      nextAt = clock.now() + CALL_MS
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'busy' || tries >= MOST_TRIES) throw error
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
    throw new RoundFault('AWS throttled the first calls of the round')
  return { organization, pages: roots.ids.flatMap(id => planParent(id, `${organization}/${id}`)) }
}

/** Stores the places of the accounts of one page that differ from what is stored, in one commit. */
async function storePlaces(
  run: JobRun,
  mount: string,
  organization: string,
  path: string,
  ids: readonly string[],
): Promise<void> {
  const places = ids.map(id => key('organization-account', mount, id))
  const stored = await run.ports.store.read(places)
  const changes = places.flatMap((place, index) => {
    const item = stored[index]
    return item?.data.organization === organization && item.data.path === path
      ? []
      : [replaceItem(place, item, { organization, path })]
  })
  await commitAll(run, changes)
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
  if (map?.data.round?.runner !== runner) return 'done'
  const { round: _, ...before } = map.data
  const last = [replaceItem(map, map, change(before))]
  if (seen) return deleteAccounts(run, mount, seen, last)
  await commitAll(run, last)
  return 'done'
}

/**
 * Deletes the stored accounts of a mount that were not seen.
 * @param last changes of the last commit
 */
async function deleteAccounts(
  run: JobRun,
  mount: string,
  seen: ReadonlySet<string>,
  last: readonly Change[],
): Promise<JobResult> {
  const gone = (await listAccounts(run, mount)).filter(id => !seen.has(id))
  const changes = gone.map(id => removeItem(key('organization-account', mount, id)))
  const whole = Math.max(0, Math.ceil(changes.length / DELETED_AT_ONCE) - 1) * DELETED_AT_ONCE
  for (let at = 0; at < whole; at += DELETED_AT_ONCE)
    await commitAll(run, changes.slice(at, at + DELETED_AT_ONCE))
  await commitAll(run, [...changes.slice(whole), ...last])
  return 'done'
}

async function listAccounts({ ports }: JobRun, mount: string): Promise<string[]> {
  const found: string[] = []
  const where = itemPartitions('organization-account', mount)
  for await (const { items } of listPages(ports, where, LISTED_AT_ONCE))
    found.push(...items.map(item => item.sk))
  return found
}
