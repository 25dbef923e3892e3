/** The parts of a serving cluster whose failures are recorded. */
export const faultyParts = ['keyring', 'logins', 'audit', 'storage'] as const
export type FaultyPart = (typeof faultyParts)[number]

/** Recent failures of one part, as one environment has seen them. Times of failures are epoch milliseconds. */
export interface RecentFault {
  /** a description of the failure, without secrets */
  text: string
  /** epoch milliseconds of the first failure in a row, and of the last recorded failure */
  since: number
  at: number
  /** `endedAt`: when the same environment succeeded again */
  endedAt?: number
}
