import type { AwsTarget, ProviderSettings } from '../../ports.ts'
import { type AwsCredentials, readBaseCredentials } from './credentials.ts'
import type { LambdaEnvironment } from './environment.ts'
import type { OnRetry } from './wire/retry.ts'

export type AwsService = 'ec2' | 'iam' | 'sts' | 'organizations'

/** A key pair of a mount's configuration: the current key pair, or the key pair before the last rotation. */
export type AccessKeySlot = 'credentials' | 'previous'

export type CredentialSource = () => Promise<AwsCredentials>

/** Settings of a client of EC2, IAM or STS. */
export interface AwsCallSettings {
  region: string
  endpoint?: string
  maxAttempts: number
  credentials: CredentialSource
  /** `onRetry` is called after each failed attempt that is retried */
  onRetry?: OnRetry
}

const DEFAULT_ATTEMPTS = 3

/** Returns the maximum number of attempts of a call. */
export const maxAttemptsOf = ({ maxRetries }: ProviderSettings): number =>
  maxRetries < 0 ? DEFAULT_ATTEMPTS : maxRetries + 1

/** Returns the settings of a client from a mount's configuration. */
export const buildCallSettings = (
  service: AwsService,
  settings: ProviderSettings,
  region: string,
  credentials: CredentialSource,
): AwsCallSettings => ({
  region,
  ...endpointOf(service, settings),
  maxAttempts: maxAttemptsOf(settings),
  credentials: cacheCredentials(credentials),
})

/** Milliseconds before their expiration at which credentials are fetched again. */
const SETTINGS_REFRESH_MS = 300_000

/**
 * Caches credentials until shortly before they expire. Credentials without expiration are fetched each time, because
 * that costs nothing.
 */
function cacheCredentials(source: CredentialSource): CredentialSource {
  let held: Promise<AwsCredentials> | undefined
  let until = 0
  return async () => {
    if (held && Date.now() < until) return held
    const asked = source()
    held = asked
    until = Number.POSITIVE_INFINITY
    try {
      const { expiration } = await asked
      until = expiration ? expiration.getTime() - SETTINGS_REFRESH_MS : 0
      return asked
    } catch (error) {
      until = 0
      throw error
    }
  }
}

function endpointOf(service: AwsService, settings: ProviderSettings): { endpoint?: string } {
  const endpoint = {
    ec2: settings.endpoint,
    iam: settings.iamEndpoint,
    sts: settings.stsEndpoint,
    organizations: '',
  }[service]
  return endpoint === '' ? {} : { endpoint }
}

/** Returns the settings of an STS client: in the configured region, otherwise in the target's region. */
export const buildStsCallSettings = (
  { client, region }: AwsTarget,
  credentials: CredentialSource,
): AwsCallSettings => buildCallSettings('sts', client, client.stsRegion || region, credentials)

/** Returns the source of a configuration's credentials, before any role is assumed. */
export const createCredentialSource =
  (settings: ProviderSettings, pair: AccessKeySlot, environment: LambdaEnvironment): CredentialSource =>
  () => {
    const { previous } = settings
    return readBaseCredentials(
      pair === 'previous' && previous ? { ...settings, credentials: previous } : settings,
      environment,
    )
  }
