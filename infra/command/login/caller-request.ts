import { Ended } from '../ended.ts'
import { signedLogin } from './signed-login.ts'

/** The header that every server of the method knows. */
const SERVER_ID_HEADER = 'X-Vault-AWS-IAM-Server-ID'
/** Signatures of this region are those of the global endpoint. */
const GLOBAL = 'us-east-1'

interface Caller {
  profile?: string
  region?: string
  headerValue?: string
}

/**
 * The parameters of an iam login of whoever the SDK's chain of credential providers finds: variables, the profile (keys,
 * roles to assume, SSO, processes, web identities), containers, the instance's role.
 * @throws Ended `refused` where there is nobody, or no region
 */
export async function callerProof({ profile, region, headerValue }: Caller): Promise<Record<string, string>> {
  // the help and all that concerns a set do without the SDK, which takes its time to load
  const { STSClient } = await import('@aws-sdk/client-sts')
  const named = profile === undefined ? {} : { profile }
  const configured = await new STSClient(named).config.region().catch(() => undefined)
  const signed = region === 'auto' ? configured : (region ?? GLOBAL)
  if (!signed) throw new Ended('refused', 'no region is configured: give --region, or AWS_REGION')
  const { config } = new STSClient({ ...named, region: configured ?? signed })
  const credentials = await config.credentials().catch((error: Error) => {
    const where =
      profile === undefined
        ? ''
        : `profile ${JSON.stringify(profile)} is not in the AWS configuration, or leads to none (aws configure list-profiles has all): `
    throw new Ended('refused', `no AWS credentials: ${where}${error.message}`)
  })
  const { url } = config.endpointProvider({
    Region: signed,
    UseGlobalEndpoint: signed === GLOBAL,
    UseFIPS: false,
    UseDualStack: false,
  })
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  return signedLogin(
    { accessKeyId, secretAccessKey, sessionToken },
    { region: signed, host: url.host, serverId: headerValue, serverIdHeader: SERVER_ID_HEADER },
  )
}
