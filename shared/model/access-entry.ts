import type { EncryptedText } from '../values/secret.ts'

/**
 * An entry of the access list: an instance that has logged in.
 * @see docs/spec/login-ec2.md#access-list
 */
export interface AccessEntry {
  /** role of the first login */
  role: string
  /** `clientNonce` is absent when the role disallows reauthentication */
  clientNonce?: EncryptedText
  disallowReauthentication: boolean
  /** text from the instance identity document, unchanged */
  pendingTime: string
  /** epoch milliseconds, as `updatedAt` and `expiresAt` */
  createdAt: number
  updatedAt: number
  /** only tidy uses `expiresAt`: an expired entry that still exists is enforced in full */
  expiresAt: number
}
