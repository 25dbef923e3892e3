import { request } from 'node:http'
import type { ProviderSettings } from '../../ports.ts'
import { defined } from '../../values/defined.ts'
import { type Environment, runtimeCredentials } from './environment.ts'

/** Credentials in the SDK's shape. */
export interface Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  expiration?: Date
}

const METADATA_MS = 1000
const TOKEN_TTL = '21600'

/**
 * Credentials for calls on behalf of a mount: those it is configured with, CLOUD_*, the runtime's own, and,
 * outside Lambda, those of the instance that the service runs on.
 *
 * @throws when there are none
 * @see docs/spec/configuration.md#reaching-accounts
 */
export async function baseCredentials(
  settings: ProviderSettings,
  environment: Environment,
): Promise<Credentials> {
  const { credentials } = settings
  if (credentials)
    return { accessKeyId: credentials.accessKey, secretAccessKey: credentials.secretKey.reveal() }
  const { accessKey, secretKey } = environment.cloudKeys
  if (accessKey !== '' && secretKey !== '') return { accessKeyId: accessKey, secretAccessKey: secretKey }
  return (
    runtimeCredentials() ??
    (environment.onLambda ? noCredentials() : instanceCredentials(environment.metadataEndpoint))
  )
}

const noCredentials = (): never => {
  throw new Error('no credentials for calls to AWS: configure access_key and secret_key')
}

async function instanceCredentials(metadata: string): Promise<Credentials> {
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

const ask = (method: string, url: string, headers: Record<string, string>): Promise<string> =>
  new Promise((resolve, reject) => {
    const call = request(url, { method, headers, timeout: METADATA_MS }, response => {
      const chunks: Buffer[] = []
      // an answer that breaks off has no end
      response.on('error', reject)
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(Buffer.concat(chunks).toString('utf8'))
          : reject(new Error(`instance metadata answered ${response.statusCode}`)),
      )
    })
    call.on('timeout', () => call.destroy(new Error('instance metadata does not answer')))
    call.on('error', reject)
    call.end()
  })
