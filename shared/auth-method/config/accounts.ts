import type { ProviderQuestion } from '../../api/call.ts'
import type { ClientConfig } from '../../model/config.ts'
import type { AwsTarget, FieldCipher, ProviderSettings } from '../../ports.ts'
import type { Item } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import type { Secret } from '../../values/secret.ts'
import { callSettings, defaultSettings } from './client-settings.ts'

/** Items that say how to reach an account. */
export interface AccountItems {
  client: Item<'client-config'> | undefined
  sts: Item<'sts-role'> | undefined
}

/** Where a question to AWS is sent, and how. */
export interface AccountAccess extends AccountItems {
  account: string
  region: string
}

/**
 * Returns a question to AWS about what is in an account. Its key holds everything that shapes the answer: the account, the
 * region, the revisions of what reaches the account, and `subject`, which names what is asked for.
 */
export const accountQuestion = <T>(
  access: AccountAccess,
  subject: readonly unknown[],
  cipher: FieldCipher,
  ask: (target: AwsTarget) => Promise<T>,
): ProviderQuestion<T> => ({
  key: JSON.stringify([access.account, access.region, access.client?.rev, access.sts?.rev, subject]),
  ask: async () => ask(await awsTarget(access, cipher)),
})

/**
 * How to call AWS for an account: through its STS role, or with the server's own credentials, which the
 * adapter uses only where the server's own account is that account.
 * @see docs/spec/configuration.md#reaching-accounts
 */
const awsTarget = async (
  { account, region, client, sts }: AccountAccess,
  cipher: FieldCipher,
): Promise<AwsTarget> =>
  defined({
    account,
    region,
    client: await providerSettings(client, cipher),
    assume: sts ? { role: sts.data.role, externalId: sts.data.externalId } : undefined,
  })

/** The settings of a mount's calls to AWS, with its secrets opened. */
export async function providerSettings(
  stored: Item<'client-config'> | undefined,
  cipher: FieldCipher,
): Promise<ProviderSettings> {
  const config: ClientConfig = stored?.data ?? defaultSettings
  const credentials = await pair(stored, cipher, 'secretKey', config.accessKey)
  const previous = await pair(stored, cipher, 'previousSecretKey', config.previousAccessKey ?? '')
  return defined({
    version: stored?.rev ?? 'none',
    credentials,
    previous,
    ...callSettings(config),
  })
}

async function pair(
  stored: Item<'client-config'> | undefined,
  cipher: FieldCipher,
  field: 'secretKey' | 'previousSecretKey',
  accessKey: string,
): Promise<{ accessKey: string; secretKey: Secret } | undefined> {
  const encrypted = stored?.data[field]
  if (!stored || !encrypted || accessKey === '') return undefined
  return { accessKey, secretKey: await cipher.decrypt(stored, field, encrypted) }
}
