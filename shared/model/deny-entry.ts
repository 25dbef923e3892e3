/**
 * A role tag on the deny list: no login may use the tag any more.
 * @see docs/spec/role-tags.md#deny-list
 */
export interface DenyEntry {
  /** epoch milliseconds */
  createdAt: number
  expiresAt: number
}
