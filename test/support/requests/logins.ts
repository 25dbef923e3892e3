import { HOME as hostHome } from '../../../infra/local/provider/home.ts'
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

/** A running instance of the imitated EC2, at home unless said otherwise. */
export const launch = (values: Launch = {}) =>
  aws.putInstance({ ...HOME, instanceId: freshInstanceId(), ...values })

export type Launched = Awaited<ReturnType<typeof launch>>

type Named = Pick<Launched, 'account' | 'region' | 'instanceId'>

const signed = new WeakMap<Named, Promise<string>>()

/** The instance's signed document as the login takes it; signed once for each state of the instance. */
export function pkcs7Of(instance: Named): Promise<string> {
  const known = signed.get(instance)
  const pkcs7 = known ?? aws.documents(instance).then(({ rsa2048 }) => rsa2048.replaceAll('\n', ''))
  signed.set(instance, pkcs7)
  return pkcs7
}

/** Calls to the imitated AWS since it was last asked; the whole log would be megabytes. */
export function callWatch() {
  let seen = 0
  return async () => {
    const { calls } = await aws.calls({ since: seen })
    seen = calls.at(-1)?.seq ?? seen
    return calls
  }
}

/** The instance is stopped and started: its document becomes newer (or, by negative minutes, older). */
export async function restart(instance: Launched, minutes = 10): Promise<Launched> {
  const pendingTime = new Date(Date.parse(instance.pendingTime) + minutes * 60_000)
    .toISOString()
    .replace('.000Z', 'Z')
  await aws.setInstance({ ...placeOf(instance), pendingTime })
  return { ...instance, pendingTime }
}

/** The names of an instance in control commands. */
export const placeOf = ({ account, region, instanceId }: Launched) => ({ account, region, instanceId })

/** A login of an instance. */
export const loginAs = async (
  mount: string,
  instance: Launched,
  more: Record<string, unknown> = {},
): Promise<Reply> => api('POST', `${mount}/login`, { pkcs7: await pkcs7Of(instance), ...more }, { token: '' })

/** The answer to a request that names a namespace. */
export const NO_NAMESPACE =
  'unsupported path: there is no namespace but root; leave out the header X-Vault-Namespace, ' +
  'or what stands before auth/ and sys/ in the path'

/** The error if no certificate of this type is registered at the mount. */
export const unregistered = (type: 'pkcs7' | 'identity'): string =>
  `; no certificate of type ${type} is registered at this mount (config/certificate)`

/** The answer to a `pkcs7` that holds no CMS message. */
export const noMessage = (fault: string): string =>
  `pkcs7 ${fault}; send the rsa2048 document as the metadata service gives it`

/** The answer to a login that does not prove which instance calls. */
export const UNPROVEN =
  'the signature of the identity document could not be verified; use the rsa2048 document as pkcs7, ' +
  'or identity with signature or another document for which a certificate is registered'

/** The answer to a request that STS does not accept. */
export const NOT_ACCEPTED =
  'STS answered that the request is not signed validly, or no longer: ' +
  'check the credentials, the clock and the region that it was signed for'

/** The texts of a refusal. */
export const errorsOf = ({ body }: Reply): string => (body?.errors ?? []).join('\n')

/** An account of its own, reached by the mount through a role that it lets this cluster assume. */
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

export interface SignOptions {
  method?: 'POST' | 'GET'
  host?: string
  /** region of the signature */
  region?: string
  /** further headers, signed along */
  headers?: [string, string][]
  /** when it was signed, epoch milliseconds */
  at?: number
  body?: string
  query?: string
}

/** The STS of all regions without one in its name. */
const GLOBAL_STS = 'sts.amazonaws.com'

/** A caller-identity request signed with a key. */
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

/** A signed request as the login takes it. */
export function iamFields({ method, path, query, headers, body }: TestRequest): Record<string, unknown> {
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? ''
  return {
    iam_http_request_method: method,
    iam_request_url: base64(`https://${host}${path}${query === '' ? '' : `?${query}`}`),
    ...(body === '' ? {} : { iam_request_body: base64(body) }),
    iam_request_headers: Object.fromEntries(headers),
  }
}

/** The fields of an iam login signed with a key. */
export const signedBy = (key: TestKey, options: SignOptions = {}): Record<string, unknown> =>
  iamFields(signCallerIdentity(key, options))

/** An iam login with a key. */
export const loginWith = (
  mount: string,
  key: TestKey,
  more: Record<string, unknown> = {},
  options: SignOptions = {},
): Promise<Reply> => api('POST', `${mount}/login`, { ...signedBy(key, options), ...more }, { token: '' })
