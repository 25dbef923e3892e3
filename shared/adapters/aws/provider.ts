import { invalidRequestError } from '../../api/errors.ts'
import { OWN_ACCOUNT } from '../../model/organization.ts'
import type { AwsTarget, CallMeter, Clock, ProviderSettings } from '../../ports.ts'
import { runOnce } from '../../values/run-once.ts'
import { faultCounterName } from '../../watching/logins.ts'
import type { LambdaEnvironment } from './environment.ts'
import { countProviderFault, isInvalidAwsSession, isUnknownAccessKey, providerError } from './faults.ts'
import { createPromiseCache } from './promise-cache.ts'
import {
  type AccessKeySlot,
  type AwsCallSettings,
  type AwsService,
  buildCallSettings,
  type CredentialSource,
  createCredentialSource,
} from './provider-settings.ts'
import type * as Sessions from './sessions.ts'
import type { OnRetry } from './wire/retry.ts'

export interface AwsProviderDependencies {
  environment: LambdaEnvironment
  clock: Clock
  meter: CallMeter
}

/** Calls AWS on behalf of mounts. */
export interface AwsProvider {
  /**
   * Sends a call with the client for this target, with a deadline. The provider makes one client per configuration
   * and account.
   * @throws ApiError: `busy` when AWS throttles or time runs out, `provider_failed` otherwise
   */
  call<C, T>(
    service: AwsService,
    target: AwsTarget,
    deadline: number,
    make: (settings: AwsCallSettings) => C | Promise<C>,
    send: (client: C, ms: number) => Promise<T>,
  ): Promise<T>
  /** returns settings of a client with one static key pair, for the rotation of that key */
  staticSettings(settings: ProviderSettings, pair: AccessKeySlot, region: string): AwsCallSettings
  /** converts the error of a failed call */
  fault: typeof providerError
}

const MOST_CLIENTS = 500

/**
 * Creates the provider, which calls AWS on behalf of mounts.
 * @see docs/spec/configuration.md#reaching-accounts
 */
export function createAwsProvider(dependencies: AwsProviderDependencies): AwsProvider {
  const { environment, clock, meter } = dependencies
  const clients = createPromiseCache<unknown>(MOST_CLIENTS)
  const checkAccount = createAccountCheck(dependencies)

  const call: AwsProvider['call'] = async (service, target, deadline, make, send) => {
    const attempt = async (pair: AccessKeySlot) => {
      await checkAccount(target, pair)
      const client = await clients.get(nameOfClient(service, target, pair), async () =>
        make(targetSettings(service, target, pair, dependencies)),
      )
      meter.count(service)
      return send(client as Awaited<ReturnType<typeof make>>, Math.max(1, deadline - clock.now()))
    }
    const insisted = () =>
      attempt('credentials').catch((error: unknown) => {
        if (target.client.previous && isUnknownAccessKey(error)) return attempt('previous')
        // A role that was deleted and created again rejects sessions of the deleted role.
        if (!target.assume || !isInvalidAwsSession(error)) throw error
        clients.delete(nameOfClient(service, target, 'credentials'))
        return attempt('credentials')
      })
    return limitTime(deadline - clock.now(), insisted()).catch((error: unknown) => {
      const fault = providerError(service, error)
      countProviderFault(fault, meter)
      throw fault
    })
  }

  return {
    call,
    staticSettings: (settings, pair, region) =>
      buildCallSettings('iam', settings, region, createCredentialSource(settings, pair, environment)),
    fault: providerError,
  }
}

/** Returns a name by which targets are compared: region, account, and the credentials for the account. */
export const targetCacheKey = ({ account, region, assume, client }: AwsTarget): string =>
  JSON.stringify([region, account, assume ?? null, client.version])

const nameOfClient = (service: AwsService, target: AwsTarget, pair: AccessKeySlot): string =>
  `${service} ${pair} ${targetCacheKey(target)}`

/** STS's client, loaded when it is first needed. */
const sts = (): Promise<typeof Sessions> => import('./sessions.ts')

/** Returns the settings of the client for a target. */
function targetSettings(
  service: AwsService,
  target: AwsTarget,
  pair: AccessKeySlot,
  dependencies: AwsProviderDependencies,
): AwsCallSettings {
  const { client, region, assume } = target
  const own = createCredentialSource(client, pair, dependencies.environment)
  const credentials = assume ? sessionIn(target, assume, own, dependencies) : own
  const onRetry: OnRetry = why =>
    dependencies.meter.count(faultCounterName(service, why === 'throttled' ? 'throttled' : 'failed'))
  return { ...buildCallSettings(service, client, region, credentials), onRetry }
}

function sessionIn(...session: Parameters<typeof Sessions.createSessionSource>): CredentialSource {
  const source = runOnce(async () => (await sts()).createSessionSource(...session))
  return async () => (await source())()
}

/**
 * Checks that only the server's own account is called without a role to assume. The check runs on every use, before
 * any client is taken from the cache. (CVE-2025-11621)
 */
function createAccountCheck({
  environment,
  meter,
}: AwsProviderDependencies): (target: AwsTarget, pair: AccessKeySlot) => Promise<void> {
  const accounts = createPromiseCache<string>(MOST_CLIENTS)
  return async (target, pair) => {
    const { client, account, assume } = target
    // an organization is read from the account of the credentials, whichever it is
    if (assume || account === OWN_ACCOUNT) return
    const own = await accounts.get(client.version, async () =>
      (await sts()).fetchAccountOf(target, createCredentialSource(client, pair, environment), meter),
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
