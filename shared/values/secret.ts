import { hash, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

const PLACEHOLDER = '[secret]'

/** A text that must not reach a message, a log or an answer by accident: it prints as a placeholder. */
export class Secret {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  /** The text itself. Every call is a place to review. */
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

/** A secret as stored: readable only with the keyring, and only in the place it was encrypted for. */
export type Encrypted = string & { readonly [encrypted]: true }

/** SHA-256 of a text or of bytes. */
export const sha256 = (value: string | Uint8Array): Buffer => hash('sha256', value, 'buffer')

/**
 * Whether two secrets are equal, in time that depends on neither of them.
 * Both sides are hashed first, so that their lengths do not show either.
 */
export const sameSecret = (a: string | Uint8Array, b: string | Uint8Array): boolean =>
  timingSafeEqual(sha256(a), sha256(b))
