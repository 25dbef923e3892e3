import type { Instances } from '../../ports.ts'
import { describeByIds } from './describe-instances.ts'
import type { Provider } from './provider.ts'

/** EC2, as far as logins look at it. */
export const ec2Instances = (provider: Provider): Instances => ({
  describe: async (target, instanceId, deadline) =>
    (await describeByIds(provider, target, [instanceId], deadline)).get(instanceId),
})
