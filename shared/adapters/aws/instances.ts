import type { Instance as Ec2Instance } from '@aws-sdk/client-ec2'
import type { Instance, Instances } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import type { Provider } from './provider.ts'

/**
 * EC2 behind the SDK, which is loaded when it is first needed: by a module that names what it takes of it. Of what is
 * imported dynamically a bundle holds all, and EC2 has a megabyte of calls.
 */
export const ec2Instances = (provider: Provider): Instances => ({
  describe: async (target, instanceId, deadline) => {
    const { describeInstance } = await import('./describe-instance.ts')
    const found = await describeInstance(provider, target, instanceId, deadline)
    return found && instanceOf(found, instanceId)
  },
})

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
