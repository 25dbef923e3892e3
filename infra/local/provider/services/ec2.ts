import { hash } from 'node:crypto'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { instancesIn } from '../state/instances.ts'
import { type Ec2Instance, instanceStates } from '../state/state.ts'
import { awsError } from '../wire/errors.ts'
import type { Tree } from '../wire/xml.ts'
import type { Params } from './query-protocol.ts'
import type { ActionCall } from './service.ts'

/** Most values of one filter (DescribeInstances, EC2 API reference). */
const maxFilterValues = 200

/** DescribeInstances (EC2 API reference): instances of the caller's account in the region of the scope. */
export function describeInstances({ input, caller, region, aws }: ActionCall<Params>): {
  [name: string]: Tree
} {
  const all = instancesIn(aws, caller.account, region)
  const filters = filtersOf(input)
  const named = listOf(input, 'InstanceId')
  const candidates = named.length > 0 ? byIds(all, named) : byFilter(all, filters)
  const found = candidates.filter(instance => filters.every(filter => filter.accepts(instance)))
  return { reservationSet: found.map(instance => reservation(aws, instance)) }
}

/** Every instance named must exist, or the whole call fails. */
function byIds(all: ReadonlyMap<string, Ec2Instance>, ids: readonly string[]): Ec2Instance[] {
  const malformed = ids.find(id => !/^i-[0-9a-f]{8}([0-9a-f]{9})?$/.test(id))
  if (malformed !== undefined) {
    throw awsError(400, 'InvalidInstanceID.Malformed', `Invalid id: "${malformed}"`)
  }
  const missing = ids.filter(id => !all.has(id))
  if (missing.length > 0) {
    const text =
      missing.length === 1
        ? `The instance ID '${missing[0]}' does not exist`
        : `The instance IDs '${missing.join(', ')}' do not exist`
    throw awsError(400, 'InvalidInstanceID.NotFound', text)
  }
  return pick(all, ids)
}

/** Unknown ids in a filter are silently absent; without an `instance-id` filter all are candidates. */
function byFilter(all: ReadonlyMap<string, Ec2Instance>, filters: readonly Filter[]): Ec2Instance[] {
  const ids = filters.find(filter => filter.name === 'instance-id')?.values
  return ids === undefined ? [...all.values()] : pick(all, ids)
}

const pick = (all: ReadonlyMap<string, Ec2Instance>, ids: readonly string[]): Ec2Instance[] =>
  [...new Set(ids)].flatMap(id => all.get(id) ?? [])

interface Filter {
  name: string
  values: readonly string[]
  accepts(instance: Ec2Instance): boolean
}

/** Filters served, and the value of an instance each looks at. */
const filterable = new Map<string, (instance: Ec2Instance) => string>([
  ['instance-id', instance => instance.instanceId],
  ['instance-state-name', instance => instance.state],
])

function filtersOf(params: Params): Filter[] {
  const filters: Filter[] = []
  for (let n = 1; params.has(`Filter.${n}.Name`); n++) {
    filters.push(filterOf(params.get(`Filter.${n}.Name`) ?? '', listOf(params, `Filter.${n}.Value`)))
  }
  return filters
}

function filterOf(name: string, values: readonly string[]): Filter {
  const read = filterable.get(name)
  if (read === undefined) {
    throw awsError(400, 'InvalidParameterValue', `The filter '${name}' is invalid`)
  }
  if (values.length > maxFilterValues) {
    throw awsError(400, 'FilterLimitExceeded', `The maximum number of filter values is ${maxFilterValues}`)
  }
  return { name, values, accepts: instance => values.includes(read(instance)) }
}

function listOf(params: Params, name: string): string[] {
  const values: string[] = []
  for (let n = 1; params.has(`${name}.${n}`); n++) values.push(params.get(`${name}.${n}`) ?? '')
  return values
}

const reservation = (aws: ImitatedAws, instance: Ec2Instance): Tree => ({
  reservationId: instance.reservationId,
  ownerId: instance.account,
  groupSet: [],
  instancesSet: [description(aws, instance)],
})

const description = (aws: ImitatedAws, instance: Ec2Instance): Tree => ({
  instanceId: instance.instanceId,
  imageId: instance.imageId,
  instanceState: { code: instanceStates[instance.state], name: instance.state },
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

function profileOf(aws: ImitatedAws, { instanceProfileArn: arn, account }: Ec2Instance): Tree {
  if (arn === null) return undefined
  const profile = aws.state.profiles.get(`${account}/${arn.split('/').at(-1)}`)
  // A profile deleted in IAM stays on the instance, id and all.
  return { arn, id: profile?.arn === arn ? profile.profileId : goneProfileId(arn) }
}

const goneProfileId = (arn: string): string => `AIPA${hash('sha256', arn, 'hex').slice(0, 17).toUpperCase()}`
