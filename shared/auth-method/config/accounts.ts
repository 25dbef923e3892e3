import type { AwsTarget, FieldCipher, ProviderSettings } from '../../ports.ts'
import type { Item } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { providerSettings } from './client.ts'

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
  const settings: ProviderSettings = await providerSettings(client, cipher)
  return defined({
    account,
    region,
    client: settings,
    assume: sts ? { role: sts.data.role, externalId: sts.data.externalId } : undefined,
  })
}
