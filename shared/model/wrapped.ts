import type { EncryptedText } from '../values/secret.ts'

/** A response that waits for the holder of its wrapping token. */
export interface WrappedResponse {
  /** SHA-256 of the wrapping token */
  hash: string
  response: EncryptedText
  creationPath: string
  /** `mount`: accessor of the mount that answered, if any */
  mount?: string
  /** epoch milliseconds */
  createdAt: number
  /** seconds */
  ttl: number
  wrappedAccessor: string
}

/**
 * The wrapping information in an answer.
 * @see docs/spec/tokens.md#wrapping
 */
export interface WrapInfo {
  token: string
  accessor: string
  ttl: number
  creation_time: string
  creation_path: string
  wrapped_accessor?: string
}
