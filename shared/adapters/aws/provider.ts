import { ApiError, invalid } from '../../api/errors.ts'
import type { Access, Clock, Meter, ProviderSettings } from '../../ports.ts'
import { isThrottling } from '../../values/throttling.ts'
import { handler } from './client.ts'
import { baseCredentials, type Credentials } from './credentials.ts'
import type { Environment } from './environment.ts'

export interface Around {
  environment: Environment
  clock: Clock
  meter: Meter
}

/** Settings of a client of EC2 or IAM. */
export interface ClientSettings {
  region: string
  endpoint?: string
  maxAttempts: number
  credentials: () => Promise<Credentials>
  requestHandler: ReturnType<typeof handler>
}

/** Calls to AWS on behalf of mounts. */
export interface Provider {
  /**
   * Sends something with the client for this access; clients are made once per configuration and account.
   * @throws ApiError: `busy` when throttled or out of time, `provider_failed` otherwise
   */
  call<C, T>(
    service: Service,
    access: Access,
    deadline: number,
    make: (settings: ClientSettings) => C | Promise<C>,
    send: (client: C, options: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T>
  /** Settings of a client that works with one static key pair, for managing access keys. */
  staticSettings(settings: ProviderSettings, pair: Pair, region: string): ClientSettings
  /** The verdict on a failed call. */
  fault(service: Service, error: unknown): ApiError
}

export type Service = 'ec2' | 'iam' | 'sts'

/** Which of a configuration's key pairs: the current one, or the one before the last rotation. */
type Pair = 'credentials' | 'previous'

const DEFAULT_ATTEMPTS = 3
const SESSION = { name: 'cloud-auth', seconds: 900, refreshMs: 60_000 }

/** @see docs/spec/configuration.md#reaching-accounts */
export function provider({ environment, clock, meter }: Around): Provider {
  const clients = new Map<string, unknown>()
  const accounts = new Map<string, Promise<string>>()

  function settingsFor(service: Service, access: Access, pair: Pair): ClientSettings {
    const base = baseOf(access.client, pair, environment)
    const credentials = access.assume ? assumed(access, access.assume, base) : base
    return { ...common(access.client, access.region), ...endpointOf(service, access.client), credentials }
  }

  /** Temporary credentials of a satellite account's role, renewed a minute before they end. */
  function assumed(access: Access, role: NonNullable<Access['assume']>, base: () => Promise<Credentials>) {
    let held: Promise<Credentials> | undefined
    let until = 0
    return async (): Promise<Credentials> => {
      if (!held || until - SESSION.refreshMs < clock.now()) {
        held = assume(access, role, base)
        try {
          until = (await held).expiration?.getTime() ?? 0
        } catch (error) {
          held = undefined
          throw error
        }
      }
      return held
    }
  }

  async function assume(
    { client, region }: Access,
    role: NonNullable<Access['assume']>,
    base: () => Promise<Credentials>,
  ): Promise<Credentials> {
    const { STSClient, AssumeRoleCommand } = await import('@aws-sdk/client-sts')
    const sts = new STSClient({
      ...common(client, client.stsRegion || region),
      ...endpointOf('sts', client),
      credentials: base,
    })
    meter.count('sts')
    const { Credentials: made } = await sts
      .send(
        new AssumeRoleCommand({
          RoleArn: role.role,
          RoleSessionName: SESSION.name,
          DurationSeconds: SESSION.seconds,
          ...(role.externalId === '' ? {} : { ExternalId: role.externalId }),
        }),
      )
      .catch(ofSts)
    if (!made?.AccessKeyId || !made.SecretAccessKey || !made.SessionToken)
      throw new Error('STS gave no credentials')
    return {
      accessKeyId: made.AccessKeyId,
      secretAccessKey: made.SecretAccessKey,
      sessionToken: made.SessionToken,
      ...(made.Expiration ? { expiration: made.Expiration } : {}),
    }
  }

  async function ownAccount({ client, region }: Access, pair: Pair): Promise<string> {
    const { STSClient, GetCallerIdentityCommand } = await import('@aws-sdk/client-sts')
    const sts = new STSClient({
      ...common(client, client.stsRegion || region),
      ...endpointOf('sts', client),
      credentials: baseOf(client, pair, environment),
    })
    meter.count('sts')
    return (await sts.send(new GetCallerIdentityCommand({})).catch(ofSts)).Account ?? ''
  }

  // Without a role to assume, only the server's own account may be looked at. The question is asked on every
  // use, before any client is taken from the cache (CVE-2025-11621).
  async function checkAccount(access: Access, pair: Pair): Promise<void> {
    if (access.assume) return
    const { version } = access.client
    const own = accounts.get(version) ?? ownAccount(access, pair)
    if (accounts.size >= MOST_CLIENTS) accounts.clear()
    accounts.set(version, own)
    let account: string
    try {
      account = await own
    } catch (error) {
      accounts.delete(version)
      throw error
    }
    if (account !== access.account) {
      throw invalid(`no STS role is configured for account ${access.account}`, {
        reason: { why: 'no-sts-role' },
      })
    }
  }

  async function clientFor<C>(
    service: Service,
    access: Access,
    pair: Pair,
    make: (settings: ClientSettings) => C | Promise<C>,
  ): Promise<C> {
    const id = nameOfClient(service, access, pair)
    if (!clients.has(id)) {
      if (clients.size >= MOST_CLIENTS) clients.clear()
      clients.set(id, await make(settingsFor(service, access, pair)))
    }
    return clients.get(id) as C
  }

  const call: Provider['call'] = async (service, access, deadline, make, send) => {
    const attempt = async (pair: Pair) => {
      await checkAccount(access, pair)
      const client = await clientFor(service, access, pair, make)
      meter.count(service)
      return send(client, { abortSignal: AbortSignal.timeout(Math.max(1, deadline - clock.now())) })
    }
    const insisted = () =>
      attempt('credentials').catch((error: unknown) => {
        // a key that was made a moment ago is not known everywhere yet
        if (access.client.previous && NEW_KEY.includes(nameOf(error))) return attempt('previous')
        // a role that was made again no longer knows the sessions of the one before; what STS itself refused stays so
        if (!access.assume || error instanceof ApiError || !SESSION_GONE.includes(nameOf(error))) throw error
        clients.delete(nameOfClient(service, access, 'credentials'))
        return attempt('credentials')
      })
    return before(deadline - clock.now(), insisted()).catch((error: unknown) => {
      throw faultOf(service, error)
    })
  }

  return {
    call,
    staticSettings: (settings, pair, region) => ({
      ...common(settings, region),
      ...endpointOf('iam', settings),
      credentials: baseOf(settings, pair, environment),
    }),
    fault: faultOf,
  }
}

const MOST_CLIENTS = 500

const nameOfClient = (service: Service, { account, region, assume, client }: Access, pair: Pair): string =>
  JSON.stringify([service, pair, region, account, assume ?? null, client.version])

/** Work that must be done in time: the SDK does not end the fetching of credentials by itself. */
function before<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(Object.assign(new Error('out of time'), { name: 'TimeoutError' })),
      Math.max(1, ms),
    )
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

const common = (settings: ProviderSettings, region: string) => ({
  region,
  maxAttempts: settings.maxRetries < 0 ? DEFAULT_ATTEMPTS : settings.maxRetries + 1,
  requestHandler: handler(),
})

function endpointOf(service: Service, settings: ProviderSettings): { endpoint?: string } {
  const endpoint = { ec2: settings.endpoint, iam: settings.iamEndpoint, sts: settings.stsEndpoint }[service]
  return endpoint === '' ? {} : { endpoint }
}

const baseOf =
  (settings: ProviderSettings, pair: Pair, environment: Environment) => (): Promise<Credentials> => {
    const { previous } = settings
    return baseCredentials(
      pair === 'previous' && previous ? { ...settings, credentials: previous } : settings,
      environment,
    )
  }

const NEW_KEY = [
  'InvalidClientTokenId',
  'AuthFailure',
  'UnrecognizedClientException',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
]
const LATE = ['AbortError', 'TimeoutError']
/** The SDK calls a connection that broke a timeout, too. */
const BROKEN = ['ECONNRESET', 'EPIPE']

const SESSION_GONE = [...NEW_KEY, 'ExpiredToken', 'RequestExpired']

/** AWS's name of an error, also of one that was judged already. */
const nameOf = (error: unknown): string =>
  error instanceof ApiError ? nameOf(error.cause) : error instanceof Error ? error.name : ''

/** A call to another service may fail in STS, on the way to its credentials: the verdict has to name STS. */
function ofSts(error: unknown): never {
  throw faultOf('sts', error)
}

function faultOf(service: Service, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const name = nameOf(error)
  const where = { ec2: 'EC2', iam: 'IAM', sts: 'STS' }[service]
  if (isThrottling(name))
    return new ApiError('busy', `${where} is throttling`, {
      cause: error,
      retryAfter: 1,
      reason: { why: 'throttled', service },
    })
  const { code = '', $metadata } = error as { code?: string; $metadata?: { httpStatusCode?: number } }
  if (LATE.includes(name) && !BROKEN.includes(code))
    return new ApiError('busy', `${where} did not answer in time`, {
      cause: error,
      retryAfter: 1,
      reason: { why: 'timeout', service },
    })
  const status = $metadata?.httpStatusCode ?? 0
  // only a code of AWS's own grammar may travel: messages could hold names of the server's own resources
  const refused = status >= 400 && status < 500 && /^[A-Za-z0-9.]{1,64}$/.test(name)
  return new ApiError(
    'provider_failed',
    refused ? `${where} refused the server’s own request: ${name}` : `${where} could not answer`,
    {
      cause: error,
      reason: { why: refused ? 'provider-refused' : 'provider-failed', service, name },
    },
  )
}
