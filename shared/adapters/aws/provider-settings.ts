import type { AwsTarget, ProviderSettings } from '../../ports.ts'
import { requestHandler } from './client.ts'
import { baseCredentials, type Credentials } from './credentials.ts'
import type { Environment } from './environment.ts'

export type Service = 'ec2' | 'iam' | 'sts'

/** Which of a configuration's key pairs: the current one, or the one before the last rotation. */
export type Pair = 'credentials' | 'previous'

export type CredentialSource = () => Promise<Credentials>

/** Settings of a client of EC2, IAM or STS. */
export interface SdkSettings {
  region: string
  endpoint?: string
  maxAttempts: number
  credentials: CredentialSource
  requestHandler: ReturnType<typeof requestHandler>
}

const DEFAULT_ATTEMPTS = 3

/** How often a call is made at most. */
export const attemptsOf = ({ maxRetries }: ProviderSettings): number =>
  maxRetries < 0 ? DEFAULT_ATTEMPTS : maxRetries + 1

/** What a mount's configuration says of a client. */
export const settingsOf = (
  service: Service,
  settings: ProviderSettings,
  region: string,
  credentials: CredentialSource,
): SdkSettings => ({
  region,
  ...endpointOf(service, settings),
  maxAttempts: attemptsOf(settings),
  credentials,
  requestHandler: requestHandler(),
})

function endpointOf(service: Service, settings: ProviderSettings): { endpoint?: string } {
  const endpoint = { ec2: settings.endpoint, iam: settings.iamEndpoint, sts: settings.stsEndpoint }[service]
  return endpoint === '' ? {} : { endpoint }
}

/** STS is asked in the configured region, otherwise in the one that is looked at. */
export const stsSettings = ({ client, region }: AwsTarget, credentials: CredentialSource): SdkSettings =>
  settingsOf('sts', client, client.stsRegion || region, credentials)

/** The credentials of a configuration, before any role is assumed. */
export const credentialsOf =
  (settings: ProviderSettings, pair: Pair, environment: Environment): CredentialSource =>
  () => {
    const { previous } = settings
    return baseCredentials(
      pair === 'previous' && previous ? { ...settings, credentials: previous } : settings,
      environment,
    )
  }
