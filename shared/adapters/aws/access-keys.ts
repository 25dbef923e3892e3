import { ApiError } from '../../api/errors.ts'
import type { AccessKeys, Clock, Meter, ProviderSettings } from '../../ports.ts'
import { Secret } from '../../values/secret.ts'
import type { Provider } from './provider.ts'

/** Where IAM and STS are asked about the configured user: its key does not tell its partition. */
interface Dependencies {
  provider: Provider
  region: string
  clock: Clock
  meter: Meter
}

/**
 * The access keys of the configured user. Nothing here is repeated by the SDK: a creation whose answer was
 * lost must be looked for, not made again. For that reason it goes over a connection of its own, which cannot
 * have died unnoticed. @see docs/spec/configuration.md#rotation-of-the-root-key
 */
export function iamAccessKeys({ provider, region, clock, meter }: Dependencies): AccessKeys {
  async function iam(settings: ProviderSettings, deadline: number, isOnce = false) {
    const [sdk, { onceHandler, requestHandler }] = await Promise.all([
      import('@aws-sdk/client-iam'),
      import('./client.ts'),
    ])
    const client = new sdk.IAMClient({
      ...provider.staticSettings(settings, 'credentials', region),
      maxAttempts: 1,
      requestHandler: isOnce ? onceHandler() : requestHandler(),
    })
    meter.count('iam')
    return { sdk, client, options: { abortSignal: AbortSignal.timeout(Math.max(1, deadline - clock.now())) } }
  }
  const known = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      throw provider.fault('iam', error)
    }
  }
  return {
    owner: async (settings, deadline) => {
      const { sdk, client, options } = await iam(settings, deadline)
      const { User } = await known(client.send(new sdk.GetUserCommand({}), options))
      return User?.UserName ? { userName: User.UserName } : {}
    },
    list: async (settings, userName, deadline) => {
      const { sdk, client, options } = await iam(settings, deadline)
      const found = await known(client.send(new sdk.ListAccessKeysCommand({ UserName: userName }), options))
      return (found.AccessKeyMetadata ?? []).map(one => ({
        accessKey: one.AccessKeyId ?? '',
        createdAt: one.CreateDate?.getTime() ?? 0,
      }))
    },
    create: async (settings, userName, deadline) => {
      const { sdk, client, options } = await iam(settings, deadline, true)
      const { AccessKey } = await known(
        client.send(new sdk.CreateAccessKeyCommand({ UserName: userName }), options),
      )
      if (!AccessKey?.AccessKeyId || !AccessKey.SecretAccessKey)
        throw new ApiError('provider_failed', 'IAM gave no key')
      return { accessKey: AccessKey.AccessKeyId, secretKey: new Secret(AccessKey.SecretAccessKey) }
    },
    delete: async (settings, userName, accessKey, deadline) => {
      const { sdk, client, options } = await iam(settings, deadline)
      await known(
        client.send(new sdk.DeleteAccessKeyCommand({ UserName: userName, AccessKeyId: accessKey }), options),
      )
    },
    works: async (settings, deadline) => {
      const { sdk, client, options } = await iam(settings, deadline)
      return client.send(new sdk.GetUserCommand({}), options).then(
        () => true,
        () => false,
      )
    },
  }
}
