/** What may fail of a cluster that serves. */
export const faultyParts = ['keyring', 'logins', 'audit', 'storage'] as const
export type FaultyPart = (typeof faultyParts)[number]

/** Recent failures of one part, as an environment of some function met them. Times are epoch milliseconds. */
export interface RecentFault {
  /** what failed, without anything secret */
  text: string
  /** the first failure in a row, and the last one that was noted */
  since: number
  at: number
  /** the same environment has succeeded since */
  endedAt?: number
}
