import type { AwsTarget, ProviderSettings } from '../../ports.ts'
import { baseCredentials, type Credentials } from './credentials.ts'
import type { Environment } from './environment.ts'
import type { OnRetry } from './wire/retry.ts'

export type Service = 'ec2' | 'iam' | 'sts'

/** Which of a configuration's key pairs: the current one, or the one before the last rotation. */
export type KeyPair = 'credentials' | 'previous'

export type CredentialSource = () => Promise<Credentials>

/** Settings of a client of EC2, IAM or STS. */
export interface CallSettings {
  region: string
  endpoint?: string
  maxAttempts: number
  credentials: CredentialSource
  /** told of each attempt that failed and is followed by another one */
  onRetry?: OnRetry
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
): CallSettings => ({
  region,
  ...endpointOf(service, settings),
  maxAttempts: attemptsOf(settings),
  credentials: cacheCredentials(credentials),
})

/** Credentials that end are asked for again this long before, milliseconds. */
const REFRESH_MS = 300_000

/** Credentials that end are remembered until shortly before; others are asked for each time, which costs nothing. */
function cacheCredentials(source: CredentialSource): CredentialSource {
  let held: Promise<Credentials> | undefined
  let until = 0
  return async () => {
    if (held && Date.now() < until) return held
    const asked = source()
    held = asked
    until = Number.POSITIVE_INFINITY
    try {
      const { expiration } = await asked
      until = expiration ? expiration.getTime() - REFRESH_MS : 0
      return asked
    } catch (error) {
      until = 0
      throw error
    }
  }
}

function endpointOf(service: Service, settings: ProviderSettings): { endpoint?: string } {
  const endpoint = { ec2: settings.endpoint, iam: settings.iamEndpoint, sts: settings.stsEndpoint }[service]
  return endpoint === '' ? {} : { endpoint }
}

/** STS is asked in the configured region, otherwise in the one that is looked at. */
export const stsSettings = ({ client, region }: AwsTarget, credentials: CredentialSource): CallSettings =>
  settingsOf('sts', client, client.stsRegion || region, credentials)

/** The credentials of a configuration, before any role is assumed. */
export const credentialsOf =
  (settings: ProviderSettings, pair: KeyPair, environment: Environment): CredentialSource =>
  () => {
    const { previous } = settings
    return baseCredentials(
      pair === 'previous' && previous ? { ...settings, credentials: previous } : settings,
      environment,
    )
  }
