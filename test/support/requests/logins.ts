import { HOME_ACCOUNT as hostHome } from '../../../infra/local/provider/home.ts'
import {
  basicDate,
  callerIdentityPost,
  presign,
  signHeaders,
  type TestKey,
  type TestRequest,
} from '../../provider/hand-signer.ts'
import type { Reply } from '../service/api.ts'
import { api, aws, done, freshAccount, freshInstanceId } from '../service/cluster.ts'

/** The account and region of the cluster. */
export const HOME = hostHome

type Launch = Partial<Parameters<typeof aws.putInstance>[0]>

/** Starts an instance of the imitated EC2, by default in the cluster's account. */
export const launch = (values: Launch = {}) =>
  aws.putInstance({ ...HOME, instanceId: freshInstanceId(), ...values })

export type Launched = Awaited<ReturnType<typeof launch>>

type Named = Pick<Launched, 'account' | 'region' | 'instanceId'>

const signed = new WeakMap<Named, Promise<string>>()

/**
 * Returns the signed identity document of an instance, in the form of the login parameter `pkcs7`. Each state
 * of the instance is signed once.
 */
export function pkcs7Of(instance: Named): Promise<string> {
  const known = signed.get(instance)
  const pkcs7 = known ?? aws.documents(instance).then(({ rsa2048 }) => rsa2048.replaceAll('\n', ''))
  signed.set(instance, pkcs7)
  return pkcs7
}

/**
 * Returns a function that gets the calls to the imitated AWS since its last use. Reading the whole log would
 * transfer megabytes.
 */
export function callWatch() {
  let seen = 0
  return async () => {
    const { calls } = await aws.calls({ since: seen })
    seen = calls.at(-1)?.seq ?? seen
    return calls
  }
}

/**
 * Stops and starts an instance, so that its identity document becomes newer (with negative minutes: older).
 */
export async function restart(instance: Launched, minutes = 10): Promise<Launched> {
  const pendingTime = new Date(Date.parse(instance.pendingTime) + minutes * 60_000)
    .toISOString()
    .replace('.000Z', 'Z')
  await aws.setInstance({ ...placeOf(instance), pendingTime })
  return { ...instance, pendingTime }
}

/** Returns the names that identify an instance in control commands of the imitated AWS. */
export const placeOf = ({ account, region, instanceId }: Launched) => ({ account, region, instanceId })

/** Logs an instance in with its signed identity document. */
export const loginAs = async (
  mount: string,
  instance: Launched,
  more: Record<string, unknown> = {},
): Promise<Reply> => api('POST', `${mount}/login`, { pkcs7: await pkcs7Of(instance), ...more }, { token: '' })

/** The answer to a request that names a namespace. */
export const NO_NAMESPACE =
  'unsupported path: the only namespace is root; leave out the header X-Vault-Namespace, ' +
  'or the part of the path before auth/ or sys/'

/** Returns the error message for a mount without a registered certificate of this type. */
export const unregistered = (type: 'pkcs7' | 'identity'): string =>
  `; no certificate of type ${type} is registered at this mount (config/certificate)`

/** Returns the error message for a `pkcs7` parameter without a CMS message. */
export const noMessage = (fault: string): string =>
  `pkcs7 ${fault}; send the rsa2048 document exactly as the metadata service returns it`

/** The error message for a login that does not prove which instance calls. */
export const UNPROVEN =
  'the signature of the identity document could not be verified; use the rsa2048 document as pkcs7, ' +
  'or identity with signature or another document for which a certificate is registered'

/** The error message for a caller-identity request that STS does not accept. */
export const NOT_ACCEPTED =
  'STS answered that the request is not signed validly, or no longer: ' +
  'check the credentials, the clock and the region that it was signed for'

/** Returns the error messages of a refused request. */
export const errorsOf = ({ body }: Reply): string => (body?.errors ?? []).join('\n')

/**
 * Creates an AWS account, and lets the mount call AWS in this account through a role that the cluster can
 * assume.
 */
export async function satellite(mount: string, externalId?: string): Promise<string> {
  const account = freshAccount()
  const role = { account, name: 'cloud-auth-reader', ...(externalId ? { externalId } : {}) }
  const { arn } = await aws.putRole(role)
  await done('POST', `${mount}/config/sts/${account}`, {
    sts_role: arn,
    ...(externalId ? { external_id: externalId } : {}),
  })
  return account
}

/** Returns the credentials that the metadata service gives to an instance for its own role. */
export async function ownRoleKeyOf({ account, region, instanceId }: Named): Promise<TestKey> {
  const { url } = await aws.metadataPort({ account, region, instanceId })
  const asked = { method: 'PUT', headers: { 'X-aws-ec2-metadata-token-ttl-seconds': '60' } }
  const token = await (await fetch(`${url}/latest/api/token`, asked)).text()
  const answer = await fetch(
    `${url}/latest/meta-data/identity-credentials/ec2/security-credentials/ec2-instance`,
    { headers: { 'X-aws-ec2-metadata-token': token } },
  )
  const { AccessKeyId, SecretAccessKey, Token } = (await answer.json()) as Record<string, string>
  return { accessKeyId: AccessKeyId ?? '', secretAccessKey: SecretAccessKey ?? '', sessionToken: Token ?? '' }
}

export interface SignOptions {
  method?: 'POST' | 'GET'
  host?: string
  /** AWS region of the signature */
  region?: string
  /** additional signed headers */
  headers?: [string, string][]
  /** time of the signature, in epoch milliseconds */
  at?: number
  body?: string
  query?: string
}

/** The host name of STS without a region. */
const GLOBAL_STS = 'sts.amazonaws.com'

/** Signs a caller-identity request with an access key. */
export function signCallerIdentity(key: TestKey, options: SignOptions = {}): TestRequest {
  const { host = GLOBAL_STS, region = 'us-east-1', headers = [], at = Date.now() } = options
  const signing = { key, region, service: 'sts', date: basicDate(at) }
  const post = callerIdentityPost(host, headers)
  if (options.method !== 'GET') return signHeaders({ ...post, body: options.body ?? post.body }, signing)
  const query = options.query ?? 'Action=GetCallerIdentity&Version=2011-06-15'
  const get = { method: 'GET', path: '/', query, headers: [['Host', host], ...headers], body: '' }
  return presign(get as TestRequest, signing)
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Returns the login parameters that carry a signed request. */
export function iamFields({ method, path, query, headers, body }: TestRequest): Record<string, unknown> {
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? ''
  return {
    iam_http_request_method: method,
    iam_request_url: base64(`https://${host}${path}${query === '' ? '' : `?${query}`}`),
    ...(body === '' ? {} : { iam_request_body: base64(body) }),
    iam_request_headers: Object.fromEntries(headers),
  }
}

/** Returns the parameters of an iam login, signed with an access key. */
export const signedBy = (key: TestKey, options: SignOptions = {}): Record<string, unknown> =>
  iamFields(signCallerIdentity(key, options))

/** Logs in with the iam method and an access key. */
export const loginWith = (
  mount: string,
  key: TestKey,
  more: Record<string, unknown> = {},
  options: SignOptions = {},
): Promise<Reply> => api('POST', `${mount}/login`, { ...signedBy(key, options), ...more }, { token: '' })
