import { type ClusterCondition, type ClusterState, classifyCluster } from './condition.ts'
import { judgePair, type PairSituation, type PairVerdict, worstOf } from './pair.ts'
import { hasAnswered, type ObservedCluster } from './status.ts'

/** States that the cluster's own answer explains best, whatever the other cluster answers. */
const OWN_STATES: readonly ClusterState[] = [
  'uninitialised',
  'corrupted',
  'bootstrapping',
  'changing',
  'failing',
  'closed',
  'activation-failed',
  'unreachable',
  'unclear',
  'asking',
  'unknown',
]
/** Situations that say nothing about a broken link. */
const LINKED: readonly PairSituation[] = ['following', 'single', 'unheard']

/** A cluster's condition, as a program shows it next to the other cluster. */
const conditionWithin = (one: ObservedCluster, verdict: PairVerdict): ClusterCondition => {
  const condition = classifyCluster(one)
  const isOwn =
    OWN_STATES.includes(condition.state) ||
    (LINKED.includes(verdict.situation) && !(condition.state === 'alone' && verdict.severity === 'busy'))
  return isOwn ? condition : { ...condition, severity: verdict.severity, sentence: verdict.sentence }
}

/** The next task of an operator, by the situation of two clusters. An absent task follows from the headline. */
const tasks: Partial<Record<PairSituation, string>> = {
  promoting: 'Wait: the operation ends by itself.',
  becoming: 'Wait: the operation ends by itself.',
  adopting: 'Wait: the operation ends by itself.',
  'catching-up': 'Wait until the secondary streams.',
  superseded: 'Wait until the earlier primary has closed. Then make it follow the later primary.',
  unfollowed: 'Make the former primary follow the serving cluster.',
  revoked: 'Admit the secondary again, or disable DR on it.',
  'cut-off': 'Check the network between the clusters, and the log of the secondary.',
  unjoined: 'Make the other cluster a secondary.',
  'handed-over': 'Request the promotion again.',
  'no-primary': 'Promote the cluster that has the higher position.',
  'primary-silent': 'If the primary is lost, take over. If the primary serves elsewhere, mend the network.',
  'peer-silent': 'Find out why the other cluster does not answer.',
  unheard: 'Check the network between here and the clusters.',
}
const taskOf = ({ situation, severity }: PairVerdict, cards: readonly ClusterCondition[]): string => {
  if (severity === 'good') return 'No action is needed.'
  if (cards.some(({ state }) => state === 'changing')) return 'Wait: the operation ends by itself.'
  return tasks[situation] ?? 'The sentence above says what to do.'
}

/** Overview of clusters that were observed at the same time, for every program. */
export interface SetOverview {
  /** the worst verdict on the primary with another cluster; its sentence is the headline */
  verdict: PairVerdict
  /** the condition of each cluster, in the order of the clusters */
  cards: readonly ClusterCondition[]
  /** sentences on what is not well, the headline first */
  faults: readonly string[]
  /** the next task of the operator */
  task: string
}

/** Judges clusters that were observed at the same time. */
export function judgeSet(seen: readonly ObservedCluster[]): SetOverview {
  const primary = seen.find(one => hasAnswered(one) && one.answer.status.mode === 'primary') ??
    seen[0] ?? { name: '' }
  const others = seen.filter(one => one !== primary)
  const verdicts = new Map(others.map(one => [one, judgePair(primary, one)]))
  const verdict = worstOf([...verdicts.values()]) ?? judgePair(primary, undefined)
  const cards = seen.map(one => conditionWithin(one, verdicts.get(one) ?? verdict))
  const isPair = seen.length > 1 && verdict.severity !== 'good'
  const faults = seen.flatMap(({ name }, index) => {
    const { severity, sentence } = cards[index] ?? { severity: 'good', sentence: '' }
    const isSaid = severity === 'good' || (isPair && verdict.sentence.includes(sentence))
    return isSaid ? [] : [`${name}: ${sentence}`]
  })
  return {
    verdict,
    cards,
    faults: isPair ? [verdict.sentence, ...faults] : faults,
    task: taskOf(verdict, cards),
  }
}
