/** Requests that an environment has refused and not logged yet. */
export interface CountedRefusals {
  /** epoch milliseconds of the last entry */
  loggedAt: number
  /** by operation, as the endpoint table or the link names it */
  counts: Map<string, number>
}
