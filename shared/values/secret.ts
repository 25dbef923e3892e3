import { hash, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

const PLACEHOLDER = '[secret]'

/** A text that must not reach a message, a log or a response by accident. A `Secret` prints as a placeholder. */
export class Secret {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  /** Returns the text. Review every call. */
  reveal(): string {
    return this.#text
  }
  toString(): string {
    return PLACEHOLDER
  }
  toJSON(): string {
    return PLACEHOLDER
  }
  [inspect.custom](): string {
    return PLACEHOLDER
  }
}

declare const encrypted: unique symbol

/** A secret as stored. Only the keyring can decrypt it, and only at the place it was encrypted for. */
export type EncryptedText = string & { readonly [encrypted]: true }

/** Returns the SHA-256 of a text or of bytes. */
export const sha256 = (value: string | Uint8Array): Buffer => hash('sha256', value, 'buffer')

/** Compares two secrets in constant time. Hashes both first, to hide their lengths too. */
export const secretsEqual = (a: string | Uint8Array, b: string | Uint8Array): boolean =>
  timingSafeEqual(sha256(a), sha256(b))
