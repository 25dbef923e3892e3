import type { Change } from '../../storage/changes.ts'

/** What a renewal may give, by the role as it is now. Seconds. */
export interface Renewal {
  ttl: number
  methodMax: number
  period: number
  changes: readonly Change[]
}
