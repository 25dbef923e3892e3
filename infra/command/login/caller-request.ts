import { CommandEnded } from '../ended.ts'
import { signLogin, type WorkloadCredentials } from './signed-login.ts'

/**
 * The header that binds a signed request to one server, in the spelling that every server of the auth method
 * accepts.
 */
const SERVER_ID_HEADER = 'X-Vault-AWS-IAM-Server-ID'
/** A signature for this region is valid at the global STS endpoint. */
const GLOBAL = 'us-east-1'

interface Caller {
  profile?: string
  region?: string
  headerValue?: string
}

/**
 * Creates the parameters of an iam login with credentials from the SDK's default chain: variables, profile (keys,
 * assumed roles, SSO, processes, web identities), containers, the instance's role.
 * @throws CommandEnded `refused` if credentials or the region are missing
 */
export async function createIamLoginProof({
  profile,
  region,
  headerValue,
}: Caller): Promise<Record<string, string>> {
  // loads the SDK only when a login needs it, because the help and the cluster commands do not need it and loading
  // takes long
  const { STSClient } = await import('@aws-sdk/client-sts')
  const named = profile === undefined ? {} : { profile }
  const configured = await new STSClient(named).config.region().catch(() => undefined)
  const signed = region === 'auto' ? configured : (region ?? GLOBAL)
  if (!signed) throw new CommandEnded('refused', 'no region is configured. Set --region or AWS_REGION')
  const { config } = new STSClient({ ...named, region: configured ?? signed })
  const credentials = await config.credentials().catch((error: Error) => {
    const where =
      profile === undefined
        ? ''
        : `profile ${JSON.stringify(profile)} is not in the AWS configuration or has no credentials (aws configure list-profiles shows all): `
    throw new CommandEnded('refused', `no AWS credentials: ${where}${error.message}`)
  })
  const { url } = config.endpointProvider({
    Region: signed,
    UseGlobalEndpoint: signed === GLOBAL,
    UseFIPS: false,
    UseDualStack: false,
  })
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  return signLogin(
    { accessKeyId, secretAccessKey, sessionToken },
    { region: signed, host: url.host, serverId: headerValue, serverIdHeader: SERVER_ID_HEADER },
  )
}

/** Returns a source of credentials from the SDK's default chain. The source refreshes temporary credentials. */
export async function findAwsCredentials(
  region: string,
  profile: string | undefined,
): Promise<() => Promise<WorkloadCredentials>> {
  const { STSClient } = await import('@aws-sdk/client-sts')
  const { config } = new STSClient({ region, ...(profile === undefined ? {} : { profile }) })
  return config.credentials
}

interface TokenRequest {
  profile?: string
  region?: string
  audience?: string
}

/** Seconds for which the token is valid. The login follows at once. */
const TOKEN_SECONDS = 300

/**
 * Asks STS for a token about the caller, with credentials from the SDK's default chain. Only regional endpoints of STS
 * give such tokens.
 * @throws CommandEnded `refused` if there is no region, or STS gives no token
 */
export async function fetchWebToken({
  profile,
  region,
  audience = '',
}: TokenRequest): Promise<Record<string, string>> {
  const { GetWebIdentityTokenCommand, STSClient } = await import('@aws-sdk/client-sts')
  const named = profile === undefined ? {} : { profile }
  const configured = await new STSClient(named).config.region().catch(() => undefined)
  const asked = region === undefined || region === 'auto' ? configured : region
  if (!asked) throw new CommandEnded('refused', 'no region is configured. Set --region or AWS_REGION')
  const command = new GetWebIdentityTokenCommand({
    Audience: [audience],
    SigningAlgorithm: 'RS256',
    DurationSeconds: TOKEN_SECONDS,
  })
  const { WebIdentityToken: jwt } = await new STSClient({ ...named, region: asked })
    .send(command)
    .catch((error: Error) => {
      throw new CommandEnded('refused', `STS gave no token: ${error.name}: ${error.message}`)
    })
  if (!jwt) throw new CommandEnded('refused', 'STS answered without a token')
  return { jwt }
}
