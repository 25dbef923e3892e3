import type { Encrypted } from '../values/secret.ts'

/**
 * What becomes of an encrypted place when another term encrypts.
 * `reencrypt`: it is encrypted anew, in the background. `renew`: so it is, and where the cluster takes the keyring of
 * another set it is deleted, for whoever needs it makes another. `forget`: it is short-lived, and never encrypted anew;
 * who cannot open it does as if it were not there. `own-term`: it belongs to its term, and ends with it.
 */
export type ReencryptionRule = 'reencrypt' | 'renew' | 'forget' | 'own-term'

/** Paths of a type at which an `Encrypted` text stands, with dots between names. */
export type EncryptedPaths<T> = T extends readonly (infer E)[]
  ? EncryptedPaths<E> extends never
    ? never
    : `*.${EncryptedPaths<E>}`
  : {
      [P in keyof T & string]-?: PathsAt<P, NonNullable<T[P]>>
    }[keyof T & string]

type PathsAt<P extends string, V> = V extends Encrypted
  ? P
  : V extends string | number | boolean
    ? never
    : V extends object
      ? `${P}.${EncryptedPaths<V>}`
      : never

/** The column of a kind: a row for each encrypted place, where it has any. */
export type EncryptedColumn<T> = [EncryptedPaths<T>] extends [never]
  ? { encrypted?: never }
  : { encrypted: Readonly<Record<EncryptedPaths<T>, ReencryptionRule>> }

/** An encrypted text in an item. */
export interface EncryptedField {
  path: string
  /** the name by which it was encrypted: the last one of its path */
  field: string
  text: Encrypted
}

type Fields = Readonly<Record<string, unknown>>

/** The encrypted texts of an item that stand at some paths. */
export function findEncryptedFields(paths: readonly string[], data: unknown): EncryptedField[] {
  return paths.flatMap(path => {
    const names = path.split('.')
    const text = names.reduce<unknown>((at, name) => (Object(at) as Fields)[name], data)
    return typeof text === 'string' ? [{ path, field: names.at(-1) ?? '', text: text as Encrypted }] : []
  })
}

/** The same data with another text at a path. */
export function replaceText<T>(data: T, path: string, text: Encrypted): T {
  const [name = '', ...rest] = path.split('.')
  const inner = (data as Fields)[name]
  return { ...data, [name]: rest.length === 0 ? text : replaceText(inner, rest.join('.'), text) }
}
