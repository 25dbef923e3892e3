import { request } from 'node:http'
import type { ProviderSettings } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import { awaitResponse, readBodyUpTo } from './connections.ts'
import { type LambdaEnvironment, readRuntimeCredentials } from './environment.ts'

/** AWS credentials in the SDK's form. */
export interface AwsCredentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  expiration?: Date
}

/** Milliseconds that the metadata service may take for one answer. */
const CREDENTIALS_TIMEOUT_MS = 1000
/** Limit of an answer of the metadata service, bytes. An answer with credentials has some two thousand bytes. */
const LARGEST_METADATA = 65_536
const TOKEN_TTL = '21600'

/**
 * Returns credentials for calls on behalf of a mount: the mount's configured key pair, else `CLOUD_*`, else the
 * runtime's own credentials, else, outside Lambda, the credentials of the instance that the service runs on.
 * @throws Error when no credentials are found
 * @see docs/spec/configuration.md#reaching-accounts
 */
export async function readBaseCredentials(
  settings: ProviderSettings,
  environment: LambdaEnvironment,
): Promise<AwsCredentials> {
  const { credentials } = settings
  if (credentials)
    return { accessKeyId: credentials.accessKey, secretAccessKey: credentials.secretKey.reveal() }
  const { accessKey, secretKey } = environment.cloudKeys
  if (accessKey !== '' && secretKey !== '') return { accessKeyId: accessKey, secretAccessKey: secretKey }
  return (
    readRuntimeCredentials() ??
    (environment.onLambda ? noCredentials() : instanceCredentials(environment.metadataEndpoint))
  )
}

const noCredentials = (): never => {
  throw new Error('no credentials for calls to AWS: configure access_key and secret_key')
}

async function instanceCredentials(metadata: string): Promise<AwsCredentials> {
  const base = `${metadata}/latest/meta-data/iam/security-credentials/`
  const token = await ask('PUT', `${metadata}/latest/api/token`, {
    'x-aws-ec2-metadata-token-ttl-seconds': TOKEN_TTL,
  })
  const headers = { 'x-aws-ec2-metadata-token': token }
  const role = (await ask('GET', base, headers)).split('\n')[0] ?? ''
  const found = JSON.parse(await ask('GET', base + role, headers)) as Record<string, string>
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = found
  if (!AccessKeyId || !SecretAccessKey || !Token) return noCredentials()
  return defined({
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    expiration: Expiration ? new Date(Expiration) : undefined,
  })
}

/** @throws Error without an answer of at most `LARGEST_METADATA` bytes within `CREDENTIALS_TIMEOUT_MS` */
async function ask(method: string, url: string, headers: Record<string, string>): Promise<string> {
  const call = request(url, { method, headers, signal: AbortSignal.timeout(CREDENTIALS_TIMEOUT_MS) }).end()
  const response = await awaitResponse(call)
  const body = await readBodyUpTo(LARGEST_METADATA, response)
  if (!body) throw new Error(`instance metadata answered more than ${LARGEST_METADATA} bytes`)
  if (response.statusCode !== 200) throw new Error(`instance metadata answered ${response.statusCode}`)
  return body.toString('utf8')
}
