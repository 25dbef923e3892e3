import { instanceDocumentOf, type SignedDocument, signInstanceDocument } from '../documents/document.ts'
import { answerUnderFault, type ProviderExchange } from '../faults/exchange.ts'
import { openInstanceSession } from '../identity/instance-sessions.ts'
import { openRoleSession, type TemporaryCredentials } from '../identity/sessions.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { findInstance } from '../state/instances.ts'
import { sealText, unsealText } from '../state/seal.ts'
import type { Ec2Instance, IamRole } from '../state/state.ts'
import {
  createTextAnswer,
  type HttpAnswer,
  requestHeaderOf,
  type WireOutcome,
  type WireRequest,
} from '../wire/http.ts'

const pathPattern = /^\/imds\/(?<account>\d{12})\/(?<region>[\w-]+)\/(?<instanceId>i-[0-9a-f]+)\/(?<item>.*)$/
const maxTtlSeconds = 21_600
const credentialSeconds = 6 * 3600

/** The input of the function that reads a metadata item. */
interface Reader {
  aws: ImitatedAws
  instance: Ec2Instance
  /** Path of the item below `latest/`, without a slash at its end. */
  item: string
}

/**
 * Serves instance metadata (IMDSv2 only) of the instance in the path `/imds/<account>/<region>/<instance
 * id>/latest/…`.
 * @returns undefined for other paths
 * @see https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html
 * @see https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-identity-documents.html
 */
export function answerMetadata(aws: ImitatedAws, request: WireRequest): Promise<WireOutcome> | undefined {
  const path = pathPattern.exec(request.path)?.groups
  if (path === undefined) return undefined
  const { account = '', region = '', instanceId = '', item = '' } = path
  const exchange: ProviderExchange = {
    request,
    service: 'imds',
    action: `${request.method} ${item}`,
    account,
    region,
    principalArn: null,
    refuse: error => plain(500, error.message),
  }
  return answerUnderFault(aws, exchange, async () => {
    const instance = findInstance(aws, { account, region, instanceId })
    return instance === undefined ? plain(404, 'Not Found') : answerItem(aws, instance, request, item)
  })
}

function answerItem(
  aws: ImitatedAws,
  instance: Ec2Instance,
  request: WireRequest,
  path: string,
): HttpAnswer | Promise<HttpAnswer> {
  if (path === 'latest/api/token') return issueToken(aws, instance, request)
  if (request.method !== 'GET') return plain(405, 'Method Not Allowed')
  const token = requestHeaderOf(request, 'x-aws-ec2-metadata-token')
  if (token === undefined || !isToken(aws, instance, token)) return plain(401, 'Unauthorized')
  return readItem({ aws, instance, item: path.replace(/^latest\//, '').replace(/\/$/, '') })
}

function issueToken(aws: ImitatedAws, instance: Ec2Instance, request: WireRequest): HttpAnswer {
  if (request.method !== 'PUT') return plain(405, 'Method Not Allowed')
  // IMDS refuses tokens to forwarding proxies, so that a proxy cannot obtain a token for other clients.
  if (requestHeaderOf(request, 'x-forwarded-for') !== undefined) return plain(403, 'Forbidden')
  const ttl = requestHeaderOf(request, 'x-aws-ec2-metadata-token-ttl-seconds') ?? ''
  if (!/^\d{1,5}$/.test(ttl) || Number(ttl) < 1 || Number(ttl) > maxTtlSeconds) {
    return plain(400, 'Bad Request')
  }
  const answer = plain(200, sealText(aws, useOf(instance), String(aws.now() + Number(ttl) * 1000)))
  answer.headers['x-aws-ec2-metadata-token-ttl-seconds'] = ttl
  return answer
}

/**
 * Reports whether this provider made a token for this instance and the token has not expired. The token
 * contains only its expiry.
 */
const isToken = (aws: ImitatedAws, instance: Ec2Instance, token: string): boolean =>
  Number(unsealText(aws, useOf(instance), token) ?? 0) > aws.now()

const useOf = ({ account, region, instanceId }: Ec2Instance): string =>
  `metadata of ${account}/${region}/${instanceId}`

/** The metadata items, by their path below `latest/`. */
const items: Record<string, (reader: Reader) => string | undefined | Promise<string>> = {
  'dynamic/instance-identity/document': ({ instance }) => instanceDocumentOf(instance),
  'dynamic/instance-identity/signature': reader => signed(reader, 'signature'),
  'dynamic/instance-identity/pkcs7': reader => signed(reader, 'pkcs7'),
  'dynamic/instance-identity/rsa2048': reader => signed(reader, 'rsa2048'),
  'meta-data/instance-id': ({ instance }) => instance.instanceId,
  'meta-data/ami-id': ({ instance }) => instance.imageId,
  'meta-data/placement/region': ({ instance }) => instance.region,
  'meta-data/placement/availability-zone': ({ instance }) => instance.availabilityZone,
  'meta-data/identity-credentials/ec2/security-credentials': () => 'ec2-instance',
  'meta-data/identity-credentials/ec2/security-credentials/ec2-instance': ({ aws, instance }) =>
    answerOf(aws, openInstanceSession(aws, instance, credentialSeconds)),
  'meta-data/iam/security-credentials': reader => roleOf(reader)?.name,
}

async function readItem(reader: Reader): Promise<HttpAnswer> {
  const read = Object.hasOwn(items, reader.item) ? items[reader.item] : credentials
  const text = await read?.(reader)
  return text === undefined ? plain(404, 'Not Found') : plain(200, text)
}

const signed = async ({ aws, instance }: Reader, form: keyof SignedDocument): Promise<string> =>
  signInstanceDocument(instanceDocumentOf(instance), await aws.authority(), aws.now())[form]

/**
 * Returns credentials of the role in the instance's profile. The session of the role is named after the
 * instance.
 */
function credentials(reader: Reader): string | undefined {
  const role = roleOf(reader)
  if (role === undefined || reader.item !== `meta-data/iam/security-credentials/${role.name}`)
    return undefined
  return answerOf(
    reader.aws,
    openRoleSession(
      reader.aws,
      role,
      reader.instance.instanceId,
      credentialSeconds,
      claimsOf(role, reader.instance),
    ),
  )
}

/** Returns the claims of tokens about a session whose credentials the metadata service (IMDSv2) delivered. */
const claimsOf = (
  { partition }: IamRole,
  { account, region, instanceId, vpcId, privateIp }: Ec2Instance,
): Record<string, unknown> => ({
  ec2_source_instance_arn: `arn:${partition}:ec2:${region}:${account}:instance/${instanceId}`,
  ...(vpcId === null ? {} : { ec2_instance_source_vpc: vpcId }),
  ec2_instance_source_private_ipv4: privateIp,
  ec2_role_delivery: '2.0',
})

/** Renders credentials as the metadata service does. */
const answerOf = (aws: ImitatedAws, credentials: TemporaryCredentials): string =>
  JSON.stringify({
    Code: 'Success',
    LastUpdated: new Date(aws.now()).toISOString().replace(/\.\d{3}/, ''),
    Type: 'AWS-HMAC',
    AccessKeyId: credentials.accessKeyId,
    SecretAccessKey: credentials.secretAccessKey,
    Token: credentials.sessionToken,
    Expiration: credentials.expiration,
  })

function roleOf({ aws, instance }: Reader): IamRole | undefined {
  const { profiles, roles } = aws.state
  const profile = profiles.get(`${instance.account}/${instance.instanceProfileArn?.split('/').at(-1)}`)
  if (profile === undefined || profile.arn !== instance.instanceProfileArn) return undefined
  return roles.get(`${instance.account}/${profile.roles[0]}`)
}

const plain = (status: number, text: string): HttpAnswer => createTextAnswer(status, 'text/plain', text)
