import { type AwsPartition, awsPartitionNames, isAwsPartition } from './region.ts'

/** An IAM entity named by an ARN. @see docs/spec/login-iam.md#caller */
export interface IamEntity {
  type: 'user' | 'role' | 'assumed-role' | 'instance-profile'
  partition: AwsPartition
  /** 12 digits */
  account: string
  name: string
  /** path between type and name, without outer slashes */
  path: string
  /** session name of an assumed role */
  session?: string
}

const ACCOUNT = /^\d{12}$/
const NAME = /^[\w+=,.@-]{1,128}$/
const SESSION = /^[\w+=,.@-]{2,64}$/
/** one path segment: visible ASCII */
const SEGMENT = /^[\x21-\x7e]+$/
const BEGINNING_OF_ACCOUNT = /^\d{0,12}$/
const services = { user: 'iam', role: 'iam', 'instance-profile': 'iam', 'assumed-role': 'sts' } as const

/**
 * Parses the ARN of a user, a role, an assumed role or an instance profile.
 * @returns undefined for every other text; never throws
 */
export function parseIamEntity(arn: string): IamEntity | undefined {
  const parts = arn.split(':')
  if (parts.length !== 6) return undefined
  const [prefix, partition, service, region, account, resource] = parts as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const [type, ...names] = resource.split('/')
  if (prefix !== 'arn' || !isAwsPartition(partition) || region !== '' || !ACCOUNT.test(account))
    return undefined
  if (!isEntityType(type) || service !== services[type] || !names.every(part => SEGMENT.test(part)))
    return undefined
  if (type === 'assumed-role') return assumedRole(partition, account, names)
  const name = names.pop()
  return name && NAME.test(name) ? { type, partition, account, name, path: names.join('/') } : undefined
}

/** Reports whether the ARN of some entity of this type begins with a text. */
export function isArnPrefixOfEntity(text: string, type: IamEntity['type']): boolean {
  const parts = text.split(':')
  const rows: ((part: string, isLast: boolean) => boolean)[] = [
    beginsOneOf(['arn']),
    beginsOneOf(awsPartitionNames),
    beginsOneOf([services[type]]),
    beginsOneOf(['']),
    (part, isLast) => (isLast ? BEGINNING_OF_ACCOUNT : ACCOUNT).test(part),
    resource =>
      `${type}/`.startsWith(resource) || (resource.startsWith(`${type}/`) && SEGMENT.test(resource)),
  ]
  return parts.every((part, at) => rows[at]?.(part, at === parts.length - 1))
}

const beginsOneOf = (all: readonly string[]) => (part: string, isLast: boolean) =>
  all.some(one => (isLast ? one.startsWith(part) : one === part))

const isEntityType = (type: string | undefined): type is IamEntity['type'] =>
  type !== undefined && Object.hasOwn(services, type)

function assumedRole(partition: AwsPartition, account: string, names: string[]): IamEntity | undefined {
  const [name, session] = names
  if (names.length !== 2 || !name || !NAME.test(name) || !session || !SESSION.test(session)) return undefined
  return { type: 'assumed-role', partition, account, name, path: '', session }
}

/** Matches the ARN that STS returns for the role that EC2 gives to each instance. */
const INSTANCE_ROLE = /^arn:([a-z-]+):sts::(\d{12}):assumed-role\/aws:ec2-instance\/(i-[0-9a-f]{8,17})$/

/**
 * Parses the ARN of an instance's own role, which is not the ARN of an IAM entity. Only the form of STS is accepted.
 * @see docs/look-up/unverified.md#instance-role
 * @returns undefined for every other text; never throws
 */
export function parseInstanceRoleArn(arn: string): { account: string; instanceId: string } | undefined {
  const [, partition = '', account, instanceId] = INSTANCE_ROLE.exec(arn) ?? []
  return account && instanceId && isAwsPartition(partition) ? { account, instanceId } : undefined
}

/** Returns `arn:P:iam::ACCOUNT:type/name`: without the path, and for an assumed role the ARN of its role. */
export const canonicalArnOf = (entity: IamEntity): string =>
  `arn:${entity.partition}:iam::${entity.account}:${entity.type === 'assumed-role' ? 'role' : entity.type}/${entity.name}`

/** Returns the ARN with name and path as in IAM: `arn:P:iam::ACCOUNT:type/path/name`. */
export const iamArn = (entity: IamEntity): string =>
  `arn:${entity.partition}:iam::${entity.account}:${entity.type}/${entity.path === '' ? '' : `${entity.path}/`}${entity.name}`

/** Reports whether a role matches a pattern of the deployment's IAM policy, in which `*` matches any text. */
const matchesRolePattern = (pattern: string, role: string): boolean =>
  new RegExp(
    `^${pattern
      .split('*')
      .map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
  ).test(role)

/** Reports whether a deployment may assume a role. @param patterns of the setting `assumableRoleArns` */
export const isAssumableRole = (patterns: readonly string[], role: string): boolean =>
  patterns.some(pattern => matchesRolePattern(pattern, role))
