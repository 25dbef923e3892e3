import type { AwsQuestion } from '../../api/call.ts'
import type { AwsClientConfig } from '../../model/config.ts'
import type { AwsTarget, FieldCipher, ProviderSettings } from '../../ports.ts'
import type { Item } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import type { Secret } from '../../values/secret.ts'
import { defaultClientSettings, selectCallSettings } from './client-settings.ts'

/** The stored settings by which a mount reaches an AWS account: its client configuration and the account's STS role. */
export interface AwsAccountItems {
  client: Item<'client-config'> | undefined
  sts: Item<'sts-role'> | undefined
}

/** An AWS account and region, with the settings by which the mount reaches it. */
export interface AwsAccountAccess extends AwsAccountItems {
  account: string
  region: string
}

/**
 * Builds a question to AWS about an object in an account. The key of the question has the account, the region, the
 * revisions of the settings that give access to the account, and `subject`, the name of the object.
 */
export const createAccountQuestion = <T>(
  access: AwsAccountAccess,
  subject: readonly unknown[],
  cipher: FieldCipher,
  ask: (target: AwsTarget) => Promise<T>,
): AwsQuestion<T> => ({
  key: JSON.stringify([access.account, access.region, access.client?.rev, access.sts?.rev, subject]),
  ask: async () => ask(await awsTarget(access, cipher)),
})

/**
 * Resolves the credentials for an account: the account's STS role if one is configured, else the server's own credentials.
 * The adapter uses the server's own credentials only for the server's own account.
 * @see docs/spec/configuration.md#reaching-accounts
 */
const awsTarget = async (
  { account, region, client, sts }: AwsAccountAccess,
  cipher: FieldCipher,
): Promise<AwsTarget> =>
  defined({
    account,
    region,
    client: await buildProviderSettings(client, cipher),
    assume: sts ? { role: sts.data.role, externalId: sts.data.externalId } : undefined,
  })

/** Returns the settings of a mount's calls to AWS, with its secrets decrypted. */
export async function buildProviderSettings(
  stored: Item<'client-config'> | undefined,
  cipher: FieldCipher,
): Promise<ProviderSettings> {
  const config: AwsClientConfig = stored?.data ?? defaultClientSettings
  const credentials = await pair(stored, cipher, 'secretKey', config.accessKey)
  const previous = await pair(stored, cipher, 'previousSecretKey', config.previousAccessKey ?? '')
  return defined({
    version: stored?.rev ?? 'none',
    credentials,
    previous,
    ...selectCallSettings(config),
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
