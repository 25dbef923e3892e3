/** Seconds that a licence has to last: a former primary needs a token of its successor. */
const LICENCE_S = 86_400

/** What readiness says, as far as a planned switch looks at it. */
export interface Readiness {
  readonly checks?: readonly { name: string; passes: boolean; text: string }[]
  readonly lag?: { primary?: string }
  readonly license?: { seconds_left?: number }
  readonly operation_token?: { presented?: { counts?: boolean; why?: string } }
}

/** Why a cluster is not ready for a planned switch; empty: it is. */
export function readinessFault(
  cluster: string,
  { checks = [], license, operation_token }: Readiness,
): string {
  const presented = operation_token?.presented
  if (!presented?.counts) return `${cluster}: the operation token does not do: ${presented?.why}`
  // the primary's view of its secondaries may be outdated: the other cluster answers for itself
  const faults = checks.filter(({ name, passes }) => !passes && name !== 'secondaries')
  if (faults.length > 0) return `${cluster}: ${faults.map(({ text }) => text).join('; ')}`
  return (license?.seconds_left ?? 0) < LICENCE_S
    ? `${cluster}: the licence ends within a day, and without it no cluster can come back`
    : ''
}
