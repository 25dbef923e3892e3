import type { KMSClient } from '@aws-sdk/client-kms'
import { alarming } from '../../api/alarming.ts'
import { ApiError } from '../../api/errors.ts'
import type { Keyring } from '../../model/cluster.ts'
import type { Meter } from '../../ports.ts'
import { ownService } from './client.ts'

/** What a wrapped data key is bound to. */
const contextOf = (keyring: string) => ({ keyring })

/** Whatever KMS says, it is no fault of the caller's, and may pass. */
function away(cause: unknown): never {
  throw new ApiError('busy', alarming.keyring, { retryAfter: 5, cause })
}

/** The two calls that a keyring's envelope needs. @throws ApiError `busy` */
export interface Kms {
  unwrap(keyring: Pick<Keyring, 'id' | 'wrapped'>): Promise<Uint8Array>
  /** a new data key for a keyring, in clear and wrapped */
  newDataKey(keyring: string, keyArn: string): Promise<{ wrapped: string; dataKey: Uint8Array }>
}

/** KMS, whose client is loaded when it is first needed. */
export function lazyKms(meter: Meter): Kms {
  let client: KMSClient | undefined
  const loaded = async () => {
    const sdk = await import('@aws-sdk/client-kms')
    client ??= new sdk.KMSClient(ownService())
    meter.count('kms')
    return { sdk, client }
  }
  return {
    unwrap: async ({ id, wrapped }) => {
      const { sdk, client } = await loaded()
      const command = new sdk.DecryptCommand({
        CiphertextBlob: Buffer.from(wrapped, 'base64'),
        EncryptionContext: contextOf(id),
      })
      const { Plaintext } = await client.send(command).catch(away)
      return Plaintext ?? away(new Error('KMS gave no key'))
    },
    newDataKey: async (id, KeyId) => {
      const { sdk, client } = await loaded()
      const command = new sdk.GenerateDataKeyCommand({
        KeyId,
        KeySpec: 'AES_256',
        EncryptionContext: contextOf(id),
      })
      const { CiphertextBlob, Plaintext } = await client.send(command).catch(away)
      if (!CiphertextBlob || !Plaintext) return away(new Error('KMS gave no key'))
      return { wrapped: Buffer.from(CiphertextBlob).toString('base64'), dataKey: Plaintext }
    },
  }
}
