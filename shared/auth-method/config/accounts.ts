import type { AwsTarget, FieldCipher, ProviderSettings } from '../../ports.ts'
import type { Item } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import type { Secret } from '../../values/secret.ts'
import { defaultClient } from './client.ts'
import { callSettings } from './client-settings.ts'

/** Items that say how to reach an account. */
export interface AccountItems {
  client: Item<'client-config'> | undefined
  sts: Item<'sts-role'> | undefined
}

/**
 * How to call AWS for an account: through its STS role, or with the server's own credentials, which the
 * adapter uses only where the server's own account is that account.
 * @see docs/spec/configuration.md#reaching-accounts
 */
export async function awsTarget(
  account: string,
  region: string,
  { client, sts }: AccountItems,
  cipher: FieldCipher,
): Promise<AwsTarget> {
  return defined({
    account,
    region,
    client: await providerSettings(client, cipher),
    assume: sts ? { role: sts.data.role, externalId: sts.data.externalId } : undefined,
  })
}

/** The settings of a mount's calls to AWS, with its secrets opened. */
export async function providerSettings(
  stored: Item<'client-config'> | undefined,
  cipher: FieldCipher,
): Promise<ProviderSettings> {
  const config = stored?.data ?? defaultClient
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
