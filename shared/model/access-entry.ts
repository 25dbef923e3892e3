import type { Encrypted } from '../values/secret.ts'

/** An instance that has logged in. @see docs/spec/login-ec2.md#access-list */
export interface AccessEntry {
  /** role of the first login */
  role: string
  /** absent when reauthentication is disallowed */
  clientNonce?: Encrypted
  disallowReauthentication: boolean
  /** text of the document, verbatim */
  pendingTime: string
  /** epoch milliseconds, as the next two */
  createdAt: number
  updatedAt: number
  /** concerns only tidy: an expired entry that is still there is enforced in full */
  expiresAt: number
}
