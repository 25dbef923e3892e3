import { classifyCluster, isChangingRole } from '../../shared/set/condition.ts'
import { hasAnswered, type ObservedCluster } from '../../shared/set/status.ts'

/** The state of a cluster in its set, from its own answer. */
export type MemberState =
  /** the cluster does not answer: it is not deployed yet, or lost */
  | 'absent'
  /** deployed, but not initialised */
  | 'blank'
  /** serves, and belongs to no DR set */
  | 'alone'
  | 'primary'
  /** follows its primary without much lag */
  | 'following'
  /** a secondary that does not follow its primary */
  | 'behind'
  /** any other state: a role change is running, KMS cannot unwrap the keyring, or another service answers */
  | 'unclear'

/** A cluster as observed before a deployment. */
export interface ObservedMember {
  name: string
  standing: MemberState
}

type Order<C> = { order: readonly C[]; why: string } | { refused: string }

/** States of a cluster without primary and secondaries. */
const IN_NO_SET: readonly MemberState[] = ['absent', 'blank', 'alone']

/** Reasons why no cluster may be deployed while one cluster is in a state. */
const OBSTACLES: Partial<Record<MemberState, string>> = {
  behind: 'is a secondary that does not follow its primary. Check its status first',
  unclear: 'is changing its role or has a fault. Wait, or check its status',
}

/**
 * Decides the order in which the clusters of a pair are deployed. The primary is last, because a secondary of
 * a newer version can follow an older primary.
 * @param clusters as observed, in the order of the file
 * @param anyway true: the operator allows a deployment although a cluster does not answer
 */
export function decideDeployOrder<C extends ObservedMember>(
  clusters: readonly [C, C],
  anyway: boolean,
): Order<C> {
  const [one, other] = clusters
  const obstructed = clusters.find(({ standing }) => OBSTACLES[standing])
  if (obstructed) return { refused: `${obstructed.name} ${OBSTACLES[obstructed.standing]}` }
  if (clusters.every(({ standing }) => IN_NO_SET.includes(standing)))
    return { order: clusters, why: 'neither cluster is in a DR set' }
  if (one.standing === other.standing)
    return {
      refused:
        one.standing === 'primary'
          ? 'both clusters serve as primaries. Complete the role change first'
          : 'both clusters are secondaries. Promote one of the clusters first',
    }
  const absent = clusters.find(({ standing }) => standing === 'absent')
  if (absent && !anyway)
    return {
      refused: `${absent.name} does not answer, and the other cluster is in a set. Use --anyway to deploy it again`,
    }
  const primary = clusters.find(({ standing }) => standing === 'primary')
  const last = primary ?? absent
  if (!last) return { refused: 'the secondary follows a cluster that is not in this file' }
  const why = primary ? `${primary.name} is the primary` : `${last.name} does not answer`
  return { order: last === one ? [other, one] : clusters, why }
}

/** Classifies the state of a cluster by its own answer. */
export function classifyMember(seen: ObservedCluster): MemberState {
  const { state } = classifyCluster(seen)
  if (state === 'unreachable') return 'absent'
  if (!hasAnswered(seen)) return 'unclear'
  if (state === 'uninitialised') return 'blank'
  const { health, status } = seen.answer
  if (isChangingRole(status)) return 'unclear'
  if (health === 200)
    return status.mode === 'primary' ? 'primary' : status.mode === 'disabled' ? 'alone' : 'unclear'
  if (health !== 472) return 'unclear'
  return status.state === 'stream-wals' ? 'following' : 'behind'
}
