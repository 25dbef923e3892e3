import { judgePair } from '../../set/pair.ts'
import { readinessFault } from '../../set/readiness.ts'
import { fetchReadiness, lookAtDrilled } from './change.ts'
import { type Drilling, DrillStopped } from './run.ts'

/**
 * Checks that the set may be switched for a drill: both clusters say that they are ready, and mean each other.
 * @returns the name of the other cluster here
 * @throws DrillStopped
 */
export async function checkBoth(drilling: Drilling): Promise<string> {
  const [own, peer] = await Promise.all([lookAtDrilled(drilling, 'own'), lookAtDrilled(drilling, 'peer')])
  if (own.word.status.mode !== 'primary')
    throw new DrillStopped('this cluster is no primary: the one that is rehearses')
  const { mode, set, memberName } = peer.word.status
  if (mode !== 'secondary' || set !== own.word.status.set)
    throw new DrillStopped(`peer: it is no secondary of this set, but ${mode}`)
  const token = await drilling.token()
  const ready = await drilling.ask('own', 'GET', 'sys/replication/dr/readiness', { token })
  if (ready.status !== 200) throw new DrillStopped(`own readiness answers ${ready.status}: ${ready.text}`)
  const fault =
    readinessFault('own', ready.data) || readinessFault('peer', await fetchReadiness(drilling, 'peer'))
  if (fault) throw new DrillStopped(fault)
  const { situation, sentence } = judgePair(own, peer)
  if (situation !== 'following') throw new DrillStopped(sentence)
  return memberName
}
