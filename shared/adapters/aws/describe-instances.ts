import type { AwsTarget, Instance } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import type { XmlElement } from '../../values/xml.ts'
import type { Provider } from './provider.ts'
import type { CallSettings } from './provider-settings.ts'
import { listAt, type QueryCalls, queryCalls, textAt } from './wire/query.ts'
import { unreadable } from './wire/service-error.ts'

const UNKNOWN = ['InvalidInstanceID.NotFound', 'InvalidInstanceID.Malformed', 'InvalidInstanceID']

/**
 * Instances as EC2 describes them, by their IDs: those of the target's account among these IDs, 100 at most. One ID is
 * asked for by itself; among several those that EC2 does not know are absent. Throttling is not tried again here.
 */
export async function describeByIds(
  provider: Provider,
  target: AwsTarget,
  ids: readonly string[],
  deadline: number,
): Promise<ReadonlyMap<string, Instance>> {
  return provider.call('ec2', target, deadline, clientOf, async (call, ms) => {
    const found = await described(call, ids, ms).catch(absent)
    const own = found.filter(({ account, id }) => account === target.account && ids.includes(id))
    if (new Set(own.map(({ id }) => id)).size < own.length) throw unreadable('an instance is there twice')
    return new Map(own.map(({ account: _, ...instance }) => [instance.id, instance]))
  })
}

/** Throttling is left to those who share a call: each of them knows how long it may wait. */
const clientOf = (settings: CallSettings): QueryCalls =>
  queryCalls('ec2', { ...settings, repeatsThrottled: false })

/** An instance, with the account that owns it. */
type Described = Instance & { account: string }

/** One call. @param ids one, or several that need not all be there */
async function described(call: QueryCalls, ids: readonly string[], ms: number): Promise<Described[]> {
  const params: [string, string][] =
    ids.length === 1
      ? ids.map(id => ['InstanceId.1', id])
      : [
          ['Filter.1.Name', 'instance-id'],
          ...ids.map((id, index): [string, string] => [`Filter.1.Value.${index + 1}`, id]),
        ]
  const answer = await call('DescribeInstances', params, ms)
  return listAt(answer, 'reservationSet', 'item').flatMap(reservation =>
    listAt(reservation, 'instancesSet', 'item').map(one => ({
      account: textAt(reservation, 'ownerId') ?? '',
      ...instanceIn(one),
    })),
  )
}

const instanceIn = (one: XmlElement): Instance =>
  defined({
    id: textAt(one, 'instanceId') ?? '',
    state: textAt(one, 'instanceState', 'name') ?? '',
    amiId: textAt(one, 'imageId') || undefined,
    vpcId: textAt(one, 'vpcId') || undefined,
    subnetId: textAt(one, 'subnetId') || undefined,
    profileArn: textAt(one, 'iamInstanceProfile', 'arn') || undefined,
    tags: Object.fromEntries(
      listAt(one, 'tagSet', 'item').map(tag => [textAt(tag, 'key') ?? '', textAt(tag, 'value') ?? '']),
    ),
  })

function absent(error: unknown): Described[] {
  if (error instanceof Error && UNKNOWN.includes(error.name)) return []
  throw error
}
