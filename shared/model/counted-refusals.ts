/** Requests that an environment has refused and has not logged yet. */
export interface CountedRefusals {
  /** epoch milliseconds of the last log entry */
  loggedAt: number
  /** counts by operation, as the endpoint table or the link names it */
  counts: Map<string, number>
}
