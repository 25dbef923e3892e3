/**
 * A role tag on the deny list: it may not be used any more.
 * @see docs/spec/role-tags.md#deny-list
 */
export interface DenyEntry {
  /** epoch milliseconds */
  createdAt: number
  expiresAt: number
}
