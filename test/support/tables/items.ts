import { type Item, type Key, type Kind, key } from '../../../shared/storage/kinds.ts'
import type { StoredDataByKind } from '../../../shared/storage/stored.ts'
import { type EncryptedText, Secret } from '../../../shared/values/secret.ts'
import { portsWith } from '../../builders/ports.ts'

/** Builds an item under a key, in the form that a store returns. */
export const item = <K extends Kind>(key: Key<K>, data: StoredDataByKind[K], rev = 'r1'): Item<K> =>
  ({ ...key, rev, data }) as Item<K>

/**
 * A cipher whose encrypted texts show their content, and can be decrypted only at the place for which they
 * were encrypted.
 */
export const plainCipher = portsWith({
  cipher: {
    encrypt: async ({ kind, sk }: Key, field: string, text: string) => encrypted(kind, sk, field, text),
    decrypt: async ({ kind, sk }: Key, field: string, text: EncryptedText) => {
      const place = encrypted(kind, sk, field, '')
      if (!text.startsWith(place)) throw new Error(`${text} was not encrypted for ${place}`)
      return new Secret(text.slice(place.length))
    },
  },
}).cipher

export const encrypted = (kind: Kind, sk: string, field: string, text: string): EncryptedText =>
  `${kind} ${sk} ${field}: ${text}` as EncryptedText

/**
 * Returns the key of an item whose kind a test takes from the table of kinds. @param parts owner and name, as
 * the kind has them
 */
export const keyOfKind = key as unknown as (kind: Kind, ...parts: string[]) => Key
