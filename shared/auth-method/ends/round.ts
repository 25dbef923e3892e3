import type { ClusterRecord } from '../../model/cluster.ts'
import type { Instance, InstanceRecord, InstanceRound } from '../../model/instance.ts'
import type { Item } from '../../storage/kinds.ts'

const ROUND_PERIOD_MS = 86_400_000
/** Milliseconds for which a run keeps others from continuing its round; longer than a run of the worker. */
const RUN_LEASE_MS = 16 * 60_000
/** Younger instances may be missing from DescribeInstances, because EC2 is eventually consistent. */
const YOUNG_MS = 600_000

/** The states from which an instance never returns. */
const ENDED_STATES: readonly string[] = ['shutting-down', 'terminated']

/**
 * Decides the round that a run works on. A round begins once a day, and after each promotion and restore, because a
 * forced promotion or a restore may have lost the ends of the last seconds. The next day starts no
 * round before the last one is complete. Otherwise no round would reach the last mounts.
 * @returns undefined if nothing is due, or another run works on the round
 */
export function chooseRound(
  last: InstanceRound | undefined,
  { epoch = '', home }: Pick<ClusterRecord, 'epoch'> & { home: string },
  now: number,
): InstanceRound | undefined {
  const runUntil = now + RUN_LEASE_MS
  const isOver = last?.next === undefined
  const isElsewhere = last?.epoch !== epoch || last.home !== home
  const isNew = !last || isElsewhere || (isOver && now - last.startedAt >= ROUND_PERIOD_MS)
  if (isNew) return { startedAt: now, epoch, home, runUntil, next: { mount: '', after: '' } }
  return last.next && now >= last.runUntil ? { ...last, runUntil } : undefined
}

/**
 * Reports whether an instance has ended.
 * @param instance as EC2 describes it; undefined: EC2 does not know it
 */
export const hasInstanceEnded = (
  { loggedInAt }: InstanceRecord,
  instance: Instance | undefined,
  now: number,
): boolean => (instance ? ENDED_STATES.includes(instance.state) : now - loggedInAt > YOUNG_MS)

/** The living instances of an account in a region, of one mount. */
export interface InstanceGroup {
  account: string
  region: string
  records: Item<'instance'>[]
}

/** Returns the account and the ID in the name of a record. */
export const readRecordName = ({ sk }: Pick<Item<'instance'>, 'sk'>): { account: string; id: string } => {
  const [account = '', id = ''] = sk.split('.')
  return { account, id }
}

/** Groups the records of instances that have not ended by account and region. */
export function groupLivingInstances(records: readonly Item<'instance'>[]): InstanceGroup[] {
  const groups = new Map<string, InstanceGroup>()
  for (const record of records) {
    if (record.data.endedAt !== undefined) continue
    const { account } = readRecordName(record)
    const { region } = record.data
    const group = groups.get(`${account} ${region}`) ?? { account, region, records: [] }
    group.records.push(record)
    groups.set(`${account} ${region}`, group)
  }
  return [...groups.values()]
}
