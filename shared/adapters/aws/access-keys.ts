import {
  CreateAccessKeyCommand,
  type CreateAccessKeyCommandOutput,
  DeleteAccessKeyCommand,
  GetUserCommand,
  IAMClient,
  ListAccessKeysCommand,
} from '@aws-sdk/client-iam'
import { ApiError } from '../../api/errors.ts'
import type { AccessKeyManager, CallMeter, Clock, ProviderSettings } from '../../ports.ts'
import { Secret } from '../../values/secret.ts'
import {
  buildClientSettings,
  createWireRequestHandler,
  limitAttemptTime,
  type SdkCallAttempt,
} from './client.ts'
import type { AwsProvider } from './provider.ts'

/**
 * `region`: the region where IAM and STS look up the configured user, because the user's key does not name its
 * partition.
 */
interface Dependencies {
  provider: AwsProvider
  region: string
  clock: Clock
  meter: CallMeter
}

/**
 * Manages the access keys of the configured user. The rotation retries no call: after a creation whose answer was
 * lost, the caller must look for the key instead of creating another key. For the same reason a key creation uses
 * its own connection, which cannot have died unnoticed.
 * @see docs/spec/configuration.md#rotation-of-the-root-key
 */
export function createIamAccessKeys({ provider, region, clock, meter }: Dependencies): AccessKeyManager {
  /** Makes one attempt of a call, whatever the configuration allows. */
  async function attempt<T>(
    settings: ProviderSettings,
    deadline: number,
    send: SdkCallAttempt<IAMClient, T>,
    isOnce = false,
  ): Promise<T> {
    const reached = provider.staticSettings(settings, 'credentials', region)
    const client = new IAMClient(buildClientSettings('iam', reached, createWireRequestHandler(isOnce)))
    meter.count('iam')
    try {
      return await send(client, limitAttemptTime(deadline - clock.now()))
    } catch (error) {
      throw provider.fault('iam', error)
    }
  }
  return {
    owner: async (settings, deadline) => {
      const { User } = await attempt(settings, deadline, (client, options) =>
        client.send(new GetUserCommand({}), options),
      )
      return User?.UserName ? { userName: User.UserName } : {}
    },
    list: async (settings, userName, deadline) => {
      const command = new ListAccessKeysCommand({ UserName: userName })
      const found = await attempt(settings, deadline, (client, options) => client.send(command, options))
      return (found.AccessKeyMetadata ?? []).map(one => ({
        accessKey: one.AccessKeyId ?? '',
        createdAt: one.CreateDate?.getTime() ?? 0,
      }))
    },
    create: async (settings, userName, deadline) => {
      const command = new CreateAccessKeyCommand({ UserName: userName })
      const send: SdkCallAttempt<IAMClient, CreateAccessKeyCommandOutput> = (client, options) =>
        client.send(command, options)
      const { AccessKey } = await attempt(settings, deadline, send, true)
      if (!AccessKey?.AccessKeyId || !AccessKey.SecretAccessKey)
        throw new ApiError('provider_failed', 'IAM returned no access key')
      return { accessKey: AccessKey.AccessKeyId, secretKey: new Secret(AccessKey.SecretAccessKey) }
    },
    delete: async (settings, userName, accessKey, deadline) => {
      const command = new DeleteAccessKeyCommand({ UserName: userName, AccessKeyId: accessKey })
      await attempt(settings, deadline, (client, options) => client.send(command, options))
    },
    works: (settings, deadline) =>
      attempt(settings, deadline, (client, options) => client.send(new GetUserCommand({}), options)).then(
        () => true,
        () => false,
      ),
  }
}
