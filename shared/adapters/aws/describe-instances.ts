import { DescribeInstancesCommand, EC2Client, type Instance } from '@aws-sdk/client-ec2'
import type { AwsTarget } from '../../ports.ts'
import type { Provider } from './provider.ts'
import type { SdkSettings } from './provider-settings.ts'

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
  const [one = '', ...others] = ids
  const named =
    others.length === 0 ? { InstanceIds: [one] } : { Filters: [{ Name: 'instance-id', Values: [...ids] }] }
  const found = await provider.call('ec2', target, deadline, makeClient, (client, options) =>
    client.send(new DescribeInstancesCommand(named), options).catch(absent),
  )
  const all = (found?.Reservations ?? [])
    .filter(reservation => reservation.OwnerId === target.account)
    .flatMap(reservation => reservation.Instances ?? [])
  const wanted = new Map<string, Instance>()
  for (const instance of all) {
    const id = instance.InstanceId ?? ''
    if (ids.includes(id)) wanted.set(id, instance)
  }
  return wanted
}

/** Throttling is left to those who share a call: each of them knows how long it may wait. */
function makeClient(settings: SdkSettings): EC2Client {
  const client = new EC2Client(settings)
  const { retryStrategy } = client.config
  client.config.retryStrategy = async () => {
    const usual = await retryStrategy()
    if (!('refreshRetryTokenForRetry' in usual)) return usual
    const refreshRetryTokenForRetry: (typeof usual)['refreshRetryTokenForRetry'] = async (token, info) => {
      if (info.errorType === 'THROTTLING') throw new Error('not tried again')
      return usual.refreshRetryTokenForRetry(token, info)
    }
    return Object.assign(Object.create(usual) as typeof usual, { refreshRetryTokenForRetry })
  }
  return client
}

function absent(error: unknown): undefined {
  if (error instanceof Error && UNKNOWN.includes(error.name)) return undefined
  throw error
}
