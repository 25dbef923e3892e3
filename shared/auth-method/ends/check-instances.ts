import { commitEachGroup, countGroupOutcomes } from '../../jobs/commit-each.ts'
import { hasTimeLeft, type JobRun } from '../../jobs/job.ts'
import { listPages } from '../../jobs/list-pages.ts'
import type { Instance, InstanceRound } from '../../model/instance.ts'
import { isAuthMethodMount } from '../../model/mount.ts'
import { replaceItem } from '../../storage/changes.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { parseIamEntity } from '../../values/arn.ts'
import { mapInParallel } from '../../values/in-parallel.ts'
import { type AwsAccountItems, createAccountQuestion } from '../config/accounts.ts'
import { endInstance } from './record-end.ts'
import {
  chooseRound,
  groupLivingInstances,
  hasInstanceEnded,
  type InstanceGroup,
  readRecordName,
} from './round.ts'

const PAGE = 100
/** Accounts asked at once. */
const GROUPS_AT_ONCE = 8
/** Longest time that EC2 may take for one account. */
const GROUP_MS = 20_000

/** The counts of a run, for its log line. */
interface RunCounts {
  asked: number
  ended: number
  /** instances whose end could not be found or stored; the next round asks again */
  left: number
  /** accounts whose EC2 could not be asked, with the reason; the first ten */
  unreachable: Record<string, string>
}

const MOST_NAMED = 10

/**
 * Asks EC2 about the instances with whose end tokens end, because an event about an end may be lost. The run does a
 * part of a round and stores where the next run continues. An account whose EC2 fails or throttles is left for the
 * next round.
 */
export async function checkInstances(run: JobRun): Promise<void> {
  const { store, clock, log, deployment } = run.ports
  const cluster = await run.cluster()
  if (!cluster) return
  const [last, table] = await store.read([key('instance-round'), key('mounts')])
  const round = chooseRound(last?.data, { ...cluster.record, home: deployment.home }, clock.now())
  if (!round || !(await storeRound(run, last, round))) return
  const mounts = (table?.data.mounts ?? []).filter(isAuthMethodMount).map(({ accessor }) => accessor)
  const counts: RunCounts = { asked: 0, ended: 0, left: 0, unreachable: {} }
  const next = await checkMounts(run, mounts.toSorted(), round, counts)
  const [own] = await store.read([key('instance-round')])
  const { next: _, ...begun } = round
  if (own?.data.runUntil === round.runUntil)
    await storeRound(run, own, { ...begun, runUntil: 0, ...(next ? { next } : {}) })
  const level = Object.keys(counts.unreachable).length > 0 ? 'warn' : 'info'
  log[level]('instances were checked', { ...counts, complete: next === undefined })
}

async function storeRound(
  run: JobRun,
  last: Item<'instance-round'> | undefined,
  round: InstanceRound,
): Promise<boolean> {
  const cluster = await run.cluster()
  const change = replaceItem(key('instance-round'), last, round)
  return cluster !== undefined && (await run.ports.store.commit([change], cluster)) === 'done'
}

/** @returns where the round continues; undefined: it is complete */
async function checkMounts(
  run: JobRun,
  mounts: readonly string[],
  { next: { mount: first, after: start } = { mount: '', after: '' } }: InstanceRound,
  counts: RunCounts,
): Promise<InstanceRound['next']> {
  for (const mount of mounts.filter(one => one >= first)) {
    let after = mount === first ? start : ''
    if (!hasTimeLeft(run)) return { mount, after }
    for await (const { items, next = after } of listPages(
      run.ports,
      itemPartitions('instance', mount),
      PAGE,
      after,
    )) {
      await checkPage(run, mount, items, counts)
      // the page is checked again if time ran out before its ends were stored
      if (!hasTimeLeft(run)) return { mount, after }
      after = next
    }
  }
  return undefined
}

async function checkPage(
  run: JobRun,
  mount: string,
  page: readonly Item<'instance'>[],
  counts: RunCounts,
): Promise<void> {
  const groups = groupLivingInstances(page)
  if (groups.length === 0) return
  const { store, clock } = run.ports
  const [client, ...roles] = await store.read([
    key('client-config', mount),
    ...groups.map(({ account }) => key('sts-role', mount, account)),
  ])
  const ended = await mapInParallel(
    groups.map((group, index) => ({ group, items: { client, sts: roles[index] } })),
    async ({ group, items }) => {
      try {
        const found = await findEnded(run, group, items)
        counts.asked += group.records.length
        return found
      } catch (error) {
        counts.left += group.records.length
        if (Object.keys(counts.unreachable).length < MOST_NAMED)
          counts.unreachable[`${group.account} ${group.region}`] = String(error)
        return []
      }
    },
    GROUPS_AT_ONCE,
  )
  const changes = ended.flat().map(record => [endInstance(record, clock.now())])
  const { done } = countGroupOutcomes(await commitEachGroup(run, changes))
  counts.ended += done
  // a login or a renewal has written the record meanwhile
  counts.left += changes.length - done
}

/** Returns the instances of a group that have ended. All instances of the group share DescribeInstances calls. */
async function findEnded(
  { ports: { instances, cipher, clock }, deadline }: JobRun,
  { account, region, records }: InstanceGroup,
  items: AwsAccountItems,
): Promise<Item<'instance'>[]> {
  // EC2 of another account knows none of the instances, which then would all end
  const assumed = items.sts && parseIamEntity(items.sts.data.role)?.account
  if (assumed !== undefined && assumed !== account)
    throw new Error(`the STS role of account ${account} is a role of account ${assumed}`)
  // the answer may come much later, if the environment is frozen meanwhile
  const askedAt = clock.now()
  const until = Math.min(deadline, askedAt + GROUP_MS)
  return createAccountQuestion({ account, region, ...items }, [], cipher, async target => {
    const describe = (record: Item<'instance'>) =>
      instances.describe(target, readRecordName(record).id, until)
    const described = await Promise.all(records.map(describe))
    const ended: Item<'instance'>[] = []
    for (const [index, record] of records.entries()) {
      const hasEnded = (instance: Instance | undefined) => hasInstanceEnded(record.data, instance, askedAt)
      const instance = described[index]
      // a list of EC2 may lack an instance; asked for one instance alone, EC2 says whether it knows it
      if (hasEnded(instance) && (instance || hasEnded(await describe(record)))) ended.push(record)
    }
    return ended
  }).ask()
}
