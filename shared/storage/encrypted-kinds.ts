import type { ReencryptionRule } from './encrypted-paths.ts'
import { type Key, type Kind, key, kinds, specOf } from './kinds.ts'

/** The kinds whose items have an encrypted place of some sort, with the paths of these places. */
export const listEncryptedKinds = (sorts: readonly ReencryptionRule[]): { kind: Kind; paths: string[] }[] =>
  (Object.keys(kinds) as Kind[]).flatMap(kind => {
    const paths = Object.entries(specOf(kind).encrypted ?? {})
      .filter(([, sort]) => sorts.includes(sort))
      .map(([path]) => path)
    return paths.length > 0 ? [{ kind, paths }] : []
  })

/** Keys of this cluster that are deleted where it takes the keyring of another set: whoever needs one makes another. */
export const renewableKeys: readonly Key[] = listEncryptedKinds(['renew']).map(({ kind }) =>
  (key as unknown as (kind: Kind) => Key)(kind),
)
