import { type Instance as Described, DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2'
import type { Instance } from '../../model/instance.ts'
import type { AwsTarget } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import { createSdkCaller, type SdkCaller } from './client.ts'
import type { AwsProvider } from './provider.ts'
import type { AwsCallSettings } from './provider-settings.ts'
import { unreadableAnswerError } from './wire/service-error.ts'

const UNKNOWN = ['InvalidInstanceID.NotFound', 'InvalidInstanceID.Malformed', 'InvalidInstanceID']

/**
 * Describes instances by their IDs, 100 at most, and returns those of the target's account. A single ID is looked
 * up directly. In an answer for several IDs, instances that EC2 does not know are absent. This function does not
 * retry throttled calls.
 */
export async function describeInstancesByIds(
  provider: AwsProvider,
  target: AwsTarget,
  ids: readonly string[],
  deadline: number,
): Promise<ReadonlyMap<string, Instance>> {
  return provider.call('ec2', target, deadline, clientOf, async (calls, ms) => {
    const found = await describe(calls, target, ids, ms).catch(emptyIfUnknown)
    const own = found.filter(({ id }) => ids.includes(id))
    if (new Set(own.map(({ id }) => id)).size < own.length)
      throw unreadableAnswerError('EC2 listed an instance twice')
    return new Map(own.map(instance => [instance.id, instance]))
  })
}

/** The callers that share a call handle throttling, because each knows how long it may wait. */
const clientOf = (settings: AwsCallSettings) =>
  createSdkCaller(EC2Client, 'ec2', { ...settings, retriesThrottled: false })

/**
 * Makes one DescribeInstances call.
 * @param ids one ID, or several IDs that need not all exist
 */
async function describe(
  calls: SdkCaller<EC2Client>,
  { account }: AwsTarget,
  ids: readonly string[],
  ms: number,
): Promise<Instance[]> {
  const input =
    ids.length === 1 ? { InstanceIds: [...ids] } : { Filters: [{ Name: 'instance-id', Values: [...ids] }] }
  const command = new DescribeInstancesCommand(input)
  const { Reservations = [] } = await calls((client, options) => client.send(command, options), ms)
  const own = Reservations.filter(({ OwnerId }) => OwnerId === account)
  return own.flatMap(({ Instances = [] }) => Instances.map(readInstance))
}

const readInstance = ({ Tags = [], ...one }: Described): Instance =>
  defined({
    id: one.InstanceId ?? '',
    state: one.State?.Name ?? '',
    amiId: one.ImageId || undefined,
    vpcId: one.VpcId || undefined,
    subnetId: one.SubnetId || undefined,
    profileArn: one.IamInstanceProfile?.Arn || undefined,
    tags: Object.fromEntries(Tags.map(({ Key = '', Value = '' }) => [Key, Value])),
  } satisfies Record<keyof Instance, unknown>)

function emptyIfUnknown(error: unknown): Instance[] {
  if (error instanceof Error && UNKNOWN.includes(error.name)) return []
  throw error
}
