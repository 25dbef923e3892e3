import { partitionOfRegion } from '../../../../shared/values/region.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { InstanceName } from '../state/instances.ts'
import { unsealText } from '../state/seal.ts'
import { issueCredentials, secretOfSession, type TemporaryCredentials } from './sessions.ts'

const USE = 'instance session'

/** The content of a session token of an instance's own role. */
export interface InstanceSessionFacts extends InstanceName {
  secretAccessKey: string
  partition: string
  /** Milliseconds since 1970. */
  expiresAt: number
}

/**
 * Issues credentials of the role that EC2 gives to each instance, also to instances without a profile. The role is
 * not a role of the account, so IAM does not list it.
 * @see https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/iam-roles-for-amazon-ec2.html#ec2-instance-identity-roles
 */
export const openInstanceSession = (
  aws: ImitatedAws,
  { account, region, instanceId }: InstanceName,
  ttlSeconds: number,
): TemporaryCredentials =>
  issueCredentials(aws, USE, ttlSeconds, (accessKeyId, expiresAt) => [
    accessKeyId,
    account,
    region,
    instanceId,
    expiresAt,
  ])

/**
 * Reads a session token of an instance's own role.
 * @returns undefined for a token that this provider did not issue, or that belongs to another access key; an expired
 * session is returned
 */
export function readInstanceSession(
  aws: ImitatedAws,
  accessKeyId: string,
  token: string,
): InstanceSessionFacts | undefined {
  const text = unsealText(aws, USE, token)
  if (text === undefined) return undefined
  const [id, account, region, instanceId, expiresAt] = JSON.parse(text)
  if (id !== accessKeyId) return undefined
  const partition = partitionOfRegion(region) ?? 'aws'
  return {
    secretAccessKey: secretOfSession(aws, accessKeyId),
    partition,
    account,
    region,
    instanceId,
    expiresAt,
  }
}
