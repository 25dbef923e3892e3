import type { EncryptedText } from '../values/secret.ts'

/**
 * The rule for an encrypted field after a new term has begun to encrypt. `reencrypt`: a background job re-encrypts
 * the field. `renew`: as `reencrypt`, but the field is deleted when the cluster takes over the keyring of another
 * set, because it can be created again. `forget`: the field is short-lived and is never re-encrypted; a reader that
 * cannot decrypt it treats it as absent. `own-term`: the field belongs to its term and ends with it.
 */
export type ReencryptionRule = 'reencrypt' | 'renew' | 'forget' | 'own-term'

/** The paths of a type at which it has an `EncryptedText`, with dots between names. */
export type EncryptedPaths<T> = T extends readonly (infer E)[]
  ? EncryptedPaths<E> extends never
    ? never
    : `*.${EncryptedPaths<E>}`
  : {
      [P in keyof T & string]-?: PathsAt<P, NonNullable<T[P]>>
    }[keyof T & string]

type PathsAt<P extends string, V> = V extends EncryptedText
  ? P
  : V extends string | number | boolean
    ? never
    : V extends object
      ? `${P}.${EncryptedPaths<V>}`
      : never

/**
 * The column `encrypted` of a kind: the rule of each encrypted field. Kinds without an encrypted field have no
 * column.
 */
export type EncryptedColumn<T> = [EncryptedPaths<T>] extends [never]
  ? { encrypted?: never }
  : { encrypted: Readonly<Record<EncryptedPaths<T>, ReencryptionRule>> }

/** An encrypted field of an item. */
export interface EncryptedField {
  path: string
  /** `field` is the field name that the encryption is bound to: the last name of the path */
  field: string
  text: EncryptedText
}

type Fields = Readonly<Record<string, unknown>>

/** Returns the encrypted fields of an item at some paths. */
export function findEncryptedFields(paths: readonly string[], data: unknown): EncryptedField[] {
  return paths.flatMap(path => {
    const names = path.split('.')
    const text = names.reduce<unknown>((at, name) => (Object(at) as Fields)[name], data)
    return typeof text === 'string' ? [{ path, field: names.at(-1) ?? '', text: text as EncryptedText }] : []
  })
}

/** Returns the same data with another text at a path. */
export function replaceEncryptedText<T>(data: T, path: string, text: EncryptedText): T {
  const [name = '', ...rest] = path.split('.')
  const inner = (data as Fields)[name]
  return { ...data, [name]: rest.length === 0 ? text : replaceEncryptedText(inner, rest.join('.'), text) }
}
