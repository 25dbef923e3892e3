import { changesRole, classifyCluster } from '../../shared/set/condition.ts'
import { hasAnswered, type ObservedCluster } from '../../shared/set/status.ts'

/** What a cluster is to its set, by its own word. */
export type MemberStanding =
  /** nobody answers: it is not deployed yet, or gone */
  | 'absent'
  /** deployed, and not initialised */
  | 'blank'
  /** serves, and is in no set */
  | 'alone'
  | 'primary'
  /** follows its primary, and is close behind */
  | 'following'
  /** a secondary that does not follow */
  | 'behind'
  /** anything else: its role changes, its keyring does not open, or somebody else answers */
  | 'unclear'

/** A cluster as it was seen before a deployment. */
export interface SeenCluster {
  name: string
  standing: MemberStanding
}

type Order<C> = { order: readonly C[]; why: string } | { refused: string }

/** Standings of a cluster that follows nobody and is followed by nobody. */
const IN_NO_SET: readonly MemberStanding[] = ['absent', 'blank', 'alone']

/** Why nothing may be deployed while a cluster stands so. */
const OBSTACLES: Partial<Record<MemberStanding, string>> = {
  behind: 'is a secondary that does not follow: see its status first',
  unclear: 'answers as no cluster at rest does: wait, or see its status',
}

/**
 * Returns the order in which the clusters of a pair are deployed: the primary is the last, because a secondary of any
 * newer version follows an older primary.
 * @param clusters as they were seen, in the order in which the file names them
 * @param anyway an operator has decided to deploy although a cluster does not answer
 */
export function orderOf<C extends SeenCluster>(clusters: readonly [C, C], anyway: boolean): Order<C> {
  const [one, other] = clusters
  const obstructed = clusters.find(({ standing }) => OBSTACLES[standing])
  if (obstructed) return { refused: `${obstructed.name} ${OBSTACLES[obstructed.standing]}` }
  if (clusters.every(({ standing }) => IN_NO_SET.includes(standing)))
    return { order: clusters, why: 'neither is in a set' }
  if (one.standing === other.standing)
    return {
      refused:
        one.standing === 'primary'
          ? 'both serve as primaries: end the change of role first'
          : 'both are secondaries: promote one first',
    }
  const absent = clusters.find(({ standing }) => standing === 'absent')
  if (absent && !anyway)
    return {
      refused: `${absent.name} does not answer, and the other is in a set: repeat with --anyway if it is to be deployed anew`,
    }
  const primary = clusters.find(({ standing }) => standing === 'primary')
  const last = primary ?? absent
  if (!last) return { refused: 'the secondary follows a cluster that is not in this file' }
  const why = primary ? `${primary.name} is the primary` : `${last.name} does not answer`
  return { order: last === one ? [other, one] : clusters, why }
}

/** Returns what a cluster is to its set. */
export function memberStandingOf(seen: ObservedCluster): MemberStanding {
  const { state } = classifyCluster(seen)
  if (state === 'unreachable') return 'absent'
  if (!hasAnswered(seen)) return 'unclear'
  if (state === 'uninitialised') return 'blank'
  const { health, status } = seen.answer
  if (changesRole(status)) return 'unclear'
  if (health === 200)
    return status.mode === 'primary' ? 'primary' : status.mode === 'disabled' ? 'alone' : 'unclear'
  if (health !== 472) return 'unclear'
  return status.state === 'stream-wals' ? 'following' : 'behind'
}
