import type { KMSClient } from '@aws-sdk/client-kms'
import { ApiError } from '../../api/errors.ts'
import type { Keyring } from '../../cluster/record.ts'
import type { Entropy, Genesis, Meter, Sealer, Store } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import {
  auditHash,
  NONCE_LENGTH,
  openBatch,
  openField,
  sealBatch,
  sealField,
  type Term,
  termOf,
} from '../../storage/sealing.ts'
import type { Sealed } from '../../values/secret.ts'
import { Secret } from '../../values/secret.ts'
import { ownService } from './client.ts'

interface Around {
  store: Pick<Store, 'read'>
  entropy: Entropy
  meter: Meter
}

interface Unwrapped {
  id: string
  active: Term
  terms: readonly Term[]
}

/** What a wrapped data key is bound to. */
const contextOf = (keyring: string) => ({ keyring })

/** Whatever KMS says, it is no fault of the caller's, and may pass. */
function away(cause: unknown): never {
  throw new ApiError('busy', 'the keys of this cluster cannot be opened now', { retryAfter: 5, cause })
}

const kms = (client: KMSClient | undefined, Client: typeof KMSClient): KMSClient =>
  client ?? new Client(ownService())

/**
 * The keyring, unwrapped by KMS when a container first needs it, and kept: one call in the life of a container.
 * A container whose cluster record names another keyring forgets the one it has.
 */
export function kmsSealer({ store, entropy, meter }: Around): Sealer {
  let held: Promise<Unwrapped> | undefined
  let heldId: string | undefined
  let client: KMSClient | undefined

  async function unwrap(): Promise<Unwrapped> {
    const [item] = await store.read([key('keyring')])
    if (!item) throw new ApiError('not_initialised')
    const { KMSClient, DecryptCommand } = await import('@aws-sdk/client-kms')
    client = kms(client, KMSClient)
    const { id, active, terms } = item.data
    const opened: Term[] = []
    for (const { version, wrapped } of terms) {
      meter.count('kms')
      const command = new DecryptCommand({
        CiphertextBlob: Buffer.from(wrapped, 'base64'),
        EncryptionContext: contextOf(id),
      })
      const { Plaintext } = await client.send(command).catch(away)
      if (!Plaintext) return away(new Error('KMS gave no key'))
      opened.push(termOf(version, Plaintext))
    }
    const current = opened.find(term => term.version === active)
    if (!current) throw new Error('the keyring has no active key')
    return { id, active: current, terms: opened }
  }

  const keyring = async (): Promise<Unwrapped> => {
    held ??= unwrap()
    try {
      const found = await held
      heldId = found.id
      return found
    } catch (error) {
      held = undefined
      throw error
    }
  }

  return {
    expect: id => {
      if (heldId === undefined || heldId === id) return
      held = undefined
      heldId = undefined
    },
    seal: async (place, field, text) =>
      sealField((await keyring()).active, place, field, text, entropy.bytes(NONCE_LENGTH)),
    open: async (place, field, sealed: Sealed) =>
      new Secret(openField((await keyring()).terms, place, field, sealed)),
    sealToken: async content => sealBatch((await keyring()).active, content, entropy.bytes(NONCE_LENGTH)),
    openToken: async text => openBatch((await keyring()).terms, text),
    hmac: async text => auditHash((await keyring()).active, text),
  }
}

/** Makes the keyring of a new cluster, wrapped by its own KMS key. */
export function kmsGenesis({ keyArn, entropy, meter }: Omit<Around, 'store'> & { keyArn: string }): Genesis {
  return {
    newKeyring: async (): Promise<{ keyring: Keyring; sealer: Pick<Sealer, 'seal'> }> => {
      const { KMSClient, GenerateDataKeyCommand } = await import('@aws-sdk/client-kms')
      const id = entropy.uuid()
      meter.count('kms')
      const { CiphertextBlob, Plaintext } = await kms(undefined, KMSClient)
        .send(
          new GenerateDataKeyCommand({ KeyId: keyArn, KeySpec: 'AES_256', EncryptionContext: contextOf(id) }),
        )
        .catch(away)
      if (!CiphertextBlob || !Plaintext) return away(new Error('KMS gave no key'))
      const wrapped = Buffer.from(CiphertextBlob).toString('base64')
      const term = termOf(1, Plaintext)
      return {
        keyring: { id, active: 1, terms: [{ version: 1, wrapped }] },
        sealer: {
          seal: async (place, field, text) =>
            sealField(term, place, field, text, entropy.bytes(NONCE_LENGTH)),
        },
      }
    },
  }
}
