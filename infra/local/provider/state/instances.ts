import { hash, randomInt } from 'node:crypto'
import { sendBusEvent } from '../faults/bus-events.ts'
import { randomEc2Id } from './ids.ts'
import type { ImitatedAws } from './imitated-aws.ts'
import type { Ec2Instance } from './state.ts'

/** The account, region and ID that name one instance. */
export type InstanceName = Pick<Ec2Instance, 'account' | 'region' | 'instanceId'>

/** New values of an instance. Null removes a value. An absent value stays as it is or gets a default. */
export type InstancePatch = {
  [K in Exclude<keyof Ec2Instance, keyof InstanceName | 'reservationId'>]?: Ec2Instance[K] | undefined
}

/** Returns the instances of one account in one region, by id. */
export const instancesInRegion = (
  aws: ImitatedAws,
  account: string,
  region: string,
): Map<string, Ec2Instance> => aws.state.instances.get(`${account}/${region}`) ?? new Map()

/** Returns an instance, or undefined if the instance does not exist. */
export const findInstance = (aws: ImitatedAws, name: InstanceName): Ec2Instance | undefined =>
  instancesInRegion(aws, name.account, name.region).get(name.instanceId)

/** Launches an instance, or replaces the instance with the same id. */
export function putInstance(
  aws: ImitatedAws,
  place: { account: string; region: string; instanceId?: string | undefined },
  given: InstancePatch,
): Ec2Instance {
  const name = { ...place, instanceId: place.instanceId ?? randomEc2Id('i') }
  const instance = patched({ ...name, ...defaults(aws, name.account, name.region) }, given)
  const key = `${name.account}/${name.region}`
  const siblings = aws.state.instances.get(key) ?? new Map<string, Ec2Instance>()
  const before = siblings.get(name.instanceId)
  aws.state.instances.set(key, siblings.set(name.instanceId, instance))
  reportState(aws, before, instance)
  aws.changed()
  return instance
}

/**
 * Changes the given values of an instance.
 * @returns undefined if the instance does not exist
 */
export function setInstance(
  aws: ImitatedAws,
  name: InstanceName,
  patch: InstancePatch,
): Ec2Instance | undefined {
  const instance = findInstance(aws, name)
  if (instance === undefined) return undefined
  const changed = patched(instance, patch)
  instancesInRegion(aws, name.account, name.region).set(name.instanceId, changed)
  reportState(aws, instance, changed)
  aws.changed()
  return changed
}

/** Removes an instance, as EC2 does about an hour after its termination. */
export function deleteInstance(aws: ImitatedAws, name: InstanceName): boolean {
  const instance = findInstance(aws, name)
  if (instance === undefined) return false
  instancesInRegion(aws, name.account, name.region).delete(name.instanceId)
  reportState(aws, instance, { ...instance, state: 'terminated' })
  aws.changed()
  return true
}

/**
 * Sends EC2's event about a changed state to the default bus of the instance's account.
 * @param before undefined: the instance is new
 */
function reportState(aws: ImitatedAws, before: Ec2Instance | undefined, instance: Ec2Instance): void {
  const { account, region, instanceId, state } = instance
  if (before?.state === state) return
  const log = aws.arranged.busEvents
  if (log.toLose > 0) {
    log.toLose -= 1
    return
  }
  sendBusEvent(aws, {
    account,
    region,
    source: 'aws.ec2',
    detailType: 'EC2 Instance State-change Notification',
    time: new Date(aws.now()).toISOString(),
    resources: [`arn:aws:ec2:${region}:${account}:instance/${instanceId}`],
    detail: { 'instance-id': instanceId, state },
  })
}

function patched(instance: Ec2Instance, patch: InstancePatch): Ec2Instance {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined)
  return { ...instance, ...Object.fromEntries(given) }
}

function defaults(aws: ImitatedAws, account: string, region: string) {
  return {
    reservationId: randomEc2Id('r'),
    imageId: randomEc2Id('ami'),
    state: 'running' as const,
    vpcId: sharedId('vpc', account, region),
    subnetId: sharedId('subnet', account, region),
    instanceProfileArn: null,
    tags: {},
    pendingTime: new Date(aws.now()).toISOString().replace(/\.\d{3}/, ''),
    privateIp: `172.31.${randomInt(256)}.${randomInt(4, 255)}`,
    availabilityZone: `${region}a`,
    instanceType: 't3.micro',
    architecture: 'x86_64',
  }
}

/** Returns the id of a default resource that all instances of an account and region share. */
const sharedId = (prefix: string, account: string, region: string): string =>
  `${prefix}-0${hash('sha256', `${prefix}/${account}/${region}`, 'hex').slice(0, 16)}`
