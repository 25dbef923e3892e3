import { DescribeInstancesCommand, EC2Client, type Instance } from '@aws-sdk/client-ec2'
import type { AwsTarget } from '../../ports.ts'
import type { Provider } from './provider.ts'

const UNKNOWN = ['InvalidInstanceID.NotFound', 'InvalidInstanceID.Malformed', 'InvalidInstanceID']

/** An instance as EC2 describes it; undefined when there is none of this ID. */
export async function describeInstance(
  provider: Provider,
  target: AwsTarget,
  instanceId: string,
  deadline: number,
): Promise<Instance | undefined> {
  const found = await provider.call(
    'ec2',
    target,
    deadline,
    settings => new EC2Client(settings),
    (client, options) =>
      client.send(new DescribeInstancesCommand({ InstanceIds: [instanceId] }), options).catch(absent),
  )
  const all = found?.Reservations?.flatMap(reservation => reservation.Instances ?? []) ?? []
  return all.length === 1 && all[0]?.InstanceId === instanceId ? all[0] : undefined
}

function absent(error: unknown): undefined {
  if (error instanceof Error && UNKNOWN.includes(error.name)) return undefined
  throw error
}
