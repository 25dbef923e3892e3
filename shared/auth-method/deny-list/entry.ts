/** A role tag that may not be used any more. @see interface 2.9 */
export interface DenyEntry {
  /** epoch milliseconds */
  createdAt: number
  expiresAt: number
}
