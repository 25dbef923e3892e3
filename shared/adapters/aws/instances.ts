import type { EC2Client, Instance as Ec2Instance } from '@aws-sdk/client-ec2'
import type { Instance, Instances } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import type { Provider } from './provider.ts'

const UNKNOWN = ['InvalidInstanceID.NotFound', 'InvalidInstanceID.Malformed', 'InvalidInstanceID']

/** EC2 behind the SDK, which is loaded when it is first needed. */
export const ec2Instances = (provider: Provider): Instances => ({
  describe: async (target, instanceId, deadline) => {
    const { EC2Client, DescribeInstancesCommand } = await import('@aws-sdk/client-ec2')
    const found = await provider.call(
      'ec2',
      target,
      deadline,
      settings => new EC2Client(settings),
      (client: EC2Client, options) =>
        client.send(new DescribeInstancesCommand({ InstanceIds: [instanceId] }), options).catch(absent),
    )
    const all = found?.Reservations?.flatMap(reservation => reservation.Instances ?? []) ?? []
    return all.length === 1 && all[0]?.InstanceId === instanceId ? instanceOf(all[0], instanceId) : undefined
  },
})

function absent(error: unknown): undefined {
  if (error instanceof Error && UNKNOWN.includes(error.name)) return undefined
  throw error
}

const instanceOf = (found: Ec2Instance, id: string): Instance =>
  defined({
    id,
    state: found.State?.Name ?? '',
    amiId: found.ImageId || undefined,
    vpcId: found.VpcId || undefined,
    subnetId: found.SubnetId || undefined,
    profileArn: found.IamInstanceProfile?.Arn || undefined,
    tags: Object.fromEntries((found.Tags ?? []).map(tag => [tag.Key ?? '', tag.Value ?? ''])),
  })
