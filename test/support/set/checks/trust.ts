import { fromStoredItem } from '../../../../shared/storage/requests.ts'
import type { Check, Standing } from '../history.ts'

/**
 * Milliseconds. The process that closes a primary may have started this long before a revocation on that
 * primary.
 */
const UNDER_WAY_MS = 62_000

/**
 * Checks that a cluster that a primary has revoked in its present epoch never ends that epoch by its own
 * claim.
 */
export const revoked = (): Check => {
  return ({ entry, now, before }) => {
    const [from, to] = [before.head, now.head]
    if (from?.mode !== 'writing' || to?.mode !== 'closed' || to.successor === '' || to.epoch !== from.epoch)
      return undefined
    const at = revokedAt(now, to.successor, from.ownEpoch)
    return at !== undefined && at < entry.at - UNDER_WAY_MS
      ? `${to.epoch} was ended by ${to.successor}, which was revoked ${entry.at - at} ms before`
      : undefined
  }
}

function revokedAt({ data }: Standing, cluster: string, epoch: string): number | undefined {
  const { revoked: found } = fromStoredItem('holder', data.get(`holder\n${cluster}`), 0)?.data ?? {}
  return found?.epoch === epoch ? found.at : undefined
}

/** Checks that at rest all clusters have the primary's keys, with equal terms. */
export const terms = (): Check => {
  return ({ entry, world }) => {
    if (entry.what !== 'rest') return undefined
    const all = entry.clusters.map(name => world.get(name)?.record?.term)
    return new Set(all).size > 1 ? `the newest terms are ${all}` : undefined
  }
}
