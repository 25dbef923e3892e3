import { ApiError } from '../../api/errors.ts'
import type { Instance } from '../../model/instance.ts'
import type { AwsTarget, CallMeter, Clock, InstanceLookUps } from '../../ports.ts'
import { createSharedLookUps, type SharedLookUps } from './look-ups/together.ts'
import { type AwsProvider, targetCacheKey } from './provider.ts'
import { maxAttemptsOf } from './provider-settings.ts'

interface Dependencies {
  clock: Clock
  meter: CallMeter
}

/** The number of targets (access and region) whose pace is remembered. */
const MOST_TARGETS = 500

/** Describes instances for logins with EC2. Logins that wait at the same time share DescribeInstances calls. */
export function createEc2Instances(provider: AwsProvider, dependencies: Dependencies): InstanceLookUps {
  const targets = new Map<string, SharedLookUps<Instance>>()
  function lookUpsOf(target: AwsTarget): SharedLookUps<Instance> {
    const name = targetCacheKey(target)
    const known = targets.get(name)
    if (known) return known
    if (targets.size >= MOST_TARGETS) for (const [key, one] of targets) if (one.isIdle()) targets.delete(key)
    const made = together(provider, target, dependencies)
    targets.set(name, made)
    return made
  }
  return {
    describe: (target, instanceId, deadline) => lookUpsOf(target).find(instanceId, deadline),
    load: async () => {
      // the EC2 client comes together with STS's client, which reads the server's own account
      await Promise.all([ec2(), import('./sessions.ts')])
    },
  }
}

const together = (provider: AwsProvider, target: AwsTarget, { clock, meter }: Dependencies) =>
  createSharedLookUps<Instance>({
    send: async (ids, deadline) => (await ec2()).describeInstancesByIds(provider, target, ids, deadline),
    count: () => meter.count('ec2'),
    attempts: maxAttemptsOf(target.client),
    isRefusal: error => error instanceof ApiError && isThrottledBy('ec2', error),
    late: () => provider.fault('ec2', Object.assign(new Error('out of time'), { name: 'TimeoutError' })),
    leftMs: deadline => deadline - clock.now(),
  })

/** EC2's client, loaded when it is first needed. */
const ec2 = () => import('./describe-instances.ts')

const isThrottledBy = (service: string, { reason }: ApiError): boolean =>
  reason?.['why'] === 'throttled' && reason['service'] === service
