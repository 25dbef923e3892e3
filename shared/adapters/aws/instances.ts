import type { Instance as Ec2Instance } from '@aws-sdk/client-ec2'
import { ApiError } from '../../api/errors.ts'
import type { AwsTarget, Clock, Instance, Instances, Meter } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import { lookUpsTogether, type SharedLookUps } from './look-ups/together.ts'
import { nameOfTarget, type Provider } from './provider.ts'
import { attemptsOf } from './provider-settings.ts'

interface Dependencies {
  clock: Clock
  meter: Meter
}

type ByIds = typeof import('./describe-instances.ts')

/** Accesses and regions for which it is remembered how much EC2 takes. */
const MOST_TARGETS = 500

/**
 * EC2 behind the SDK, which is loaded when it is first needed: by a module that names what it takes of it. Of what is
 * imported dynamically a bundle holds all, and EC2 has a megabyte of calls. Logins that wait at the same time share calls.
 */
export function ec2Instances(provider: Provider, dependencies: Dependencies): Instances {
  const targets = new Map<string, SharedLookUps<Ec2Instance>>()
  let loaded: Promise<ByIds> | undefined
  const byIds = (): Promise<ByIds> => {
    loaded ??= import('./describe-instances.ts')
    return loaded
  }
  function lookUpsOf(target: AwsTarget): SharedLookUps<Ec2Instance> {
    const name = nameOfTarget(target)
    const known = targets.get(name)
    if (known) return known
    if (targets.size >= MOST_TARGETS) for (const [key, one] of targets) if (one.isIdle()) targets.delete(key)
    const made = together({ provider, byIds }, target, dependencies)
    targets.set(name, made)
    return made
  }
  return {
    describe: async (target, instanceId, deadline) => {
      const found = await lookUpsOf(target).find(instanceId, deadline)
      return found && instanceOf(found, instanceId)
    },
  }
}

const together = (
  { provider, byIds }: { provider: Provider; byIds: () => Promise<ByIds> },
  target: AwsTarget,
  { clock, meter }: Dependencies,
) =>
  lookUpsTogether<Ec2Instance>({
    send: async (ids, deadline) => {
      const { describeByIds } = await byIds()
      return describeByIds(provider, target, ids, deadline)
    },
    count: () => meter.count('ec2'),
    attempts: attemptsOf(target.client),
    isRefusal: error => error instanceof ApiError && isThrottledBy('ec2', error),
    late: () => provider.fault('ec2', Object.assign(new Error('out of time'), { name: 'TimeoutError' })),
    leftMs: deadline => deadline - clock.now(),
  })

const isThrottledBy = (service: string, { reason }: ApiError): boolean =>
  reason?.['why'] === 'throttled' && reason['service'] === service

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
