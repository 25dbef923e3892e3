import type { ReencryptionRule } from './encrypted-paths.ts'
import { itemKindSpec, itemKinds, type Key, type Kind, key } from './kinds.ts'

/** Returns the kinds whose items have an encrypted field with one of these rules, with the paths of the fields. */
export const listEncryptedKinds = (sorts: readonly ReencryptionRule[]): { kind: Kind; paths: string[] }[] =>
  (Object.keys(itemKinds) as Kind[]).flatMap(kind => {
    const paths = Object.entries(itemKindSpec(kind).encrypted ?? {})
      .filter(([, sort]) => sorts.includes(sort))
      .map(([path]) => path)
    return paths.length > 0 ? [{ kind, paths }] : []
  })

/**
 * The keys of items that this cluster deletes when it takes over the keyring of another set. Each deleted item is
 * created again when it is next needed.
 */
export const renewableItemKeys: readonly Key[] = listEncryptedKinds(['renew']).map(({ kind }) =>
  (key as unknown as (kind: Kind) => Key)(kind),
)
