import { hash } from 'node:crypto'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { instancesInRegion } from '../state/instances.ts'
import { type Ec2Instance, ec2InstanceStates } from '../state/state.ts'
import { awsError } from '../wire/errors.ts'
import type { XmlTree } from '../wire/xml.ts'
import type { QueryParams } from './query-protocol.ts'
import type { ActionCall } from './service.ts'

/** Maximum number of values of one filter (DescribeInstances, EC2 API reference). */
const maxFilterValues = 200

/** DescribeInstances (EC2 API reference): instances of the caller's account in the scope's region. */
export function describeInstances({ input, caller, region, aws }: ActionCall<QueryParams>): {
  [name: string]: XmlTree
} {
  const all = instancesInRegion(aws, caller.account, region)
  const named = listOf(input, 'InstanceId')
  const found = named.length > 0 ? byIds(all, named) : byFilter(all, input)
  return { reservationSet: found.map(instance => reservation(aws, instance)) }
}

/** Returns the instances with the given IDs. One missing instance fails the whole call. */
function byIds(all: ReadonlyMap<string, Ec2Instance>, ids: readonly string[]): Ec2Instance[] {
  const malformed = ids.find(id => !/^i-[0-9a-f]{8}([0-9a-f]{9})?$/.test(id))
  if (malformed !== undefined)
    throw awsError(400, 'InvalidInstanceID.Malformed', `Invalid id: "${malformed}"`)
  const missing = ids.find(id => !all.has(id))
  if (missing !== undefined)
    throw awsError(400, 'InvalidInstanceID.NotFound', `The instance ID '${missing}' does not exist`)
  return pick(all, ids)
}

/**
 * Returns the instances that match the filter `instance-id`, the only supported filter. Unknown ids are
 * ignored. Without a filter, returns all instances.
 */
function byFilter(all: ReadonlyMap<string, Ec2Instance>, params: QueryParams): Ec2Instance[] {
  const name = params.get('Filter.2.Name') ?? params.get('Filter.1.Name')
  if (name === undefined) return [...all.values()]
  if (name !== 'instance-id' || params.has('Filter.2.Name'))
    throw awsError(400, 'InvalidParameterValue', `The filter '${name}' is invalid`)
  const ids = listOf(params, 'Filter.1.Value')
  if (ids.length > maxFilterValues)
    throw awsError(400, 'FilterLimitExceeded', `The maximum number of filter values is ${maxFilterValues}`)
  return pick(all, ids)
}

const pick = (all: ReadonlyMap<string, Ec2Instance>, ids: readonly string[]): Ec2Instance[] =>
  [...new Set(ids)].flatMap(id => all.get(id) ?? [])

function listOf(params: QueryParams, name: string): string[] {
  const values: string[] = []
  for (let n = 1; params.has(`${name}.${n}`); n++) values.push(params.get(`${name}.${n}`) ?? '')
  return values
}

const reservation = (aws: ImitatedAws, instance: Ec2Instance): XmlTree => ({
  reservationId: instance.reservationId,
  ownerId: instance.account,
  groupSet: [],
  instancesSet: [description(aws, instance)],
})

const description = (aws: ImitatedAws, instance: Ec2Instance): XmlTree => ({
  instanceId: instance.instanceId,
  imageId: instance.imageId,
  instanceState: { code: ec2InstanceStates[instance.state], name: instance.state },
  instanceType: instance.instanceType,
  launchTime: new Date(instance.pendingTime).toISOString(),
  placement: { availabilityZone: instance.availabilityZone, groupName: '', tenancy: 'default' },
  subnetId: instance.subnetId ?? undefined,
  vpcId: instance.vpcId ?? undefined,
  privateIpAddress: instance.privateIp,
  architecture: instance.architecture,
  iamInstanceProfile: profileOf(aws, instance),
  tagSet: Object.entries(instance.tags).map(([key, value]) => ({ key, value })),
})

function profileOf(aws: ImitatedAws, { instanceProfileArn: arn, account }: Ec2Instance): XmlTree {
  if (arn === null) return undefined
  const profile = aws.state.profiles.get(`${account}/${arn.split('/').at(-1)}`)
  // An instance keeps the ARN and ID of a profile that was deleted in IAM.
  return { arn, id: profile?.arn === arn ? profile.profileId : goneProfileId(arn) }
}

const goneProfileId = (arn: string): string => `AIPA${hash('sha256', arn, 'hex').slice(0, 17).toUpperCase()}`
