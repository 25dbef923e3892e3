import { invalidRequestError } from '../../api/errors.ts'
import type { AwsTarget, Clock, Meter, ProviderSettings } from '../../ports.ts'
import { faultCounterName } from '../../watching/logins.ts'
import type { Environment } from './environment.ts'
import { countFault, isLostSession, isUnknownKey, providerError } from './faults.ts'
import { once } from './loaded-later.ts'
import { promiseCache } from './promise-cache.ts'
import {
  type CallSettings,
  type CredentialSource,
  credentialsOf,
  type KeyPair,
  type Service,
  settingsOf,
} from './provider-settings.ts'
import type * as Sessions from './sessions.ts'
import type { OnRetry } from './wire/retry.ts'

export interface ProviderDependencies {
  environment: Environment
  clock: Clock
  meter: Meter
}

/** Calls AWS on behalf of mounts. */
export interface Provider {
  /**
   * Sends a call with the client for this target, with a deadline. One client is made per configuration and account.
   * @throws ApiError: `busy` when throttled or out of time, `provider_failed` otherwise
   */
  call<C, T>(
    service: Service,
    target: AwsTarget,
    deadline: number,
    make: (settings: CallSettings) => C | Promise<C>,
    send: (client: C, ms: number) => Promise<T>,
  ): Promise<T>
  /** returns settings of a client with one static key pair, for the rotation of that key */
  staticSettings(settings: ProviderSettings, pair: KeyPair, region: string): CallSettings
  /** converts the error of a failed call */
  fault: typeof providerError
}

const MOST_CLIENTS = 500

/**
 * Creates the provider.
 * @see docs/spec/configuration.md#reaching-accounts
 */
export function provider(dependencies: ProviderDependencies): Provider {
  const { environment, clock, meter } = dependencies
  const clients = promiseCache<unknown>(MOST_CLIENTS)
  const checkAccount = createAccountCheck(dependencies)

  const call: Provider['call'] = async (service, target, deadline, make, send) => {
    const attempt = async (pair: KeyPair) => {
      await checkAccount(target, pair)
      const client = await clients.get(nameOfClient(service, target, pair), async () =>
        make(targetSettings(service, target, pair, dependencies)),
      )
      meter.count(service)
      return send(client as Awaited<ReturnType<typeof make>>, Math.max(1, deadline - clock.now()))
    }
    const insisted = () =>
      attempt('credentials').catch((error: unknown) => {
        if (target.client.previous && isUnknownKey(error)) return attempt('previous')
        // A role that was deleted and created again does not know the sessions of the old one.
        if (!target.assume || !isLostSession(error)) throw error
        clients.delete(nameOfClient(service, target, 'credentials'))
        return attempt('credentials')
      })
    return limitTime(deadline - clock.now(), insisted()).catch((error: unknown) => {
      const fault = providerError(service, error)
      countFault(fault, meter)
      throw fault
    })
  }

  return {
    call,
    staticSettings: (settings, pair, region) =>
      settingsOf('iam', settings, region, credentialsOf(settings, pair, environment)),
    fault: providerError,
  }
}

/** Returns a name by which targets are compared: region, account, and the access to it. */
export const nameOfTarget = ({ account, region, assume, client }: AwsTarget): string =>
  JSON.stringify([region, account, assume ?? null, client.version])

const nameOfClient = (service: Service, target: AwsTarget, pair: KeyPair): string =>
  `${service} ${pair} ${nameOfTarget(target)}`

/** STS's client, loaded when it is first needed. */
const sts = (): Promise<typeof Sessions> => import('./sessions.ts')

/** Returns the settings of the client for a target. */
function targetSettings(
  service: Service,
  target: AwsTarget,
  pair: KeyPair,
  dependencies: ProviderDependencies,
): CallSettings {
  const { client, region, assume } = target
  const own = credentialsOf(client, pair, dependencies.environment)
  const credentials = assume ? sessionIn(target, assume, own, dependencies) : own
  const onRetry: OnRetry = why =>
    dependencies.meter.count(faultCounterName(service, why === 'throttled' ? 'throttled' : 'failed'))
  return { ...settingsOf(service, client, region, credentials), onRetry }
}

function sessionIn(...session: Parameters<typeof Sessions.sessionOf>): CredentialSource {
  const source = once(async () => (await sts()).sessionOf(...session))
  return async () => (await source())()
}

/**
 * Checks that only the server's own account is called without a role to assume. The check runs on every use, before
 * any client is taken from the cache. (CVE-2025-11621)
 */
function createAccountCheck({
  environment,
  meter,
}: ProviderDependencies): (target: AwsTarget, pair: KeyPair) => Promise<void> {
  const accounts = promiseCache<string>(MOST_CLIENTS)
  return async (target, pair) => {
    const { client, account, assume } = target
    if (assume) return
    const own = await accounts.get(client.version, async () =>
      (await sts()).accountOf(target, credentialsOf(client, pair, environment), meter),
    )
    if (own !== account)
      throw invalidRequestError(`no STS role is configured for account ${account}`, {
        reason: { why: 'no-sts-role' },
      })
  }
}

/** Rejects with `TimeoutError` if work takes too long, including the fetching of credentials. */
function limitTime<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(Object.assign(new Error('out of time'), { name: 'TimeoutError' })),
      Math.max(1, ms),
    )
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
