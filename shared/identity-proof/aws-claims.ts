import type { BoundClaims } from '../model/jwt.ts'
import { defined } from '../values/defined.ts'
import { isObject } from '../values/json.ts'
import type { ParsedJwt } from './jwt.ts'

/**
 * AWS's claims about the bearer of a token. A claim that is missing or has another type is
 * absent. @see docs/spec/login-jwt.md#claims
 */
export interface AwsClaims extends BoundClaims {
  /** 12 digits */
  account?: string
  /** region in which the token was requested; the bearer chose the region */
  sourceRegion?: string
  principalTags: Readonly<Record<string, string>>
  /** tags that the bearer chose */
  requestTags: Readonly<Record<string, string>>
  /** end of the role session, epoch seconds */
  sessionEnd?: number
}

const LONGEST = 2048

const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST ? value : undefined

// AWS documents a text, and real tokens have a list
const listIn = (value: unknown): readonly string[] | undefined => {
  const list = Array.isArray(value) ? value : [value]
  return list.length > 0 && list.every(one => textIn(one) !== undefined) ? (list as string[]) : undefined
}

const tagsIn = (value: unknown): Readonly<Record<string, string>> =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).filter((one): one is [string, string] => typeof one[1] === 'string'),
      )
    : {}

const numberIn = (value: unknown): number | undefined => {
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && value !== '' ? number : undefined
}

const secondsIn = (value: unknown): number | undefined => {
  const parsed = typeof value === 'string' && /[-:]/.test(value) ? Date.parse(value) / 1000 : numberIn(value)
  return parsed !== undefined && parsed > 0 ? Math.floor(parsed) : undefined
}

/** Reads AWS's claims of a token, verified or not. */
export function readAwsClaims({ aws }: Pick<ParsedJwt, 'aws'>): AwsClaims {
  const read = {
    account: textIn(aws['aws_account']),
    sourceRegion: textIn(aws['source_region']),
    orgId: textIn(aws['org_id']),
    orgPaths: listIn(aws['ou_path']),
    instanceArn: textIn(aws['ec2_source_instance_arn']),
    vpcId: textIn(aws['ec2_instance_source_vpc']),
    metadataVersion: numberIn(aws['ec2_role_delivery']),
    lambdaArn: textIn(aws['lambda_source_function_arn']),
    sourceIdentity: textIn(aws['source_identity']),
    identityStoreUserId: textIn(aws['identity_store_user_id']),
    federatedProvider: textIn(aws['federated_provider']),
    sessionEnd: secondsIn(aws['original_session_exp']),
  }
  return {
    ...defined(read),
    principalTags: tagsIn(aws['principal_tags']),
    requestTags: tagsIn(aws['request_tags']),
  }
}

/** The claims that bounds compare with ARNs: the parts of an instance's or a function's ARN. */
export const regionOfArn = (arn: string | undefined): string | undefined => arn?.split(':')[3] || undefined

const INSTANCE_ARN = /^arn:[a-z-]+:ec2:([a-z0-9-]+):(\d{12}):instance\/(i-[0-9a-f]{8,17})$/

/** Returns the instance that an ARN names. */
export function instanceOfArn(
  arn: string | undefined,
): { account: string; id: string; region: string } | undefined {
  const [, region, account, id] = INSTANCE_ARN.exec(arn ?? '') ?? []
  return region && account && id ? { account, id, region } : undefined
}

/** Returns the ID of the instance that an ARN names. */
export const instanceIdOfArn = (arn: string | undefined): string | undefined => instanceOfArn(arn)?.id
