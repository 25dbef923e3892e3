import { type ConditionSeverity, classifyCluster, isChangingRole } from './condition.ts'
import { type AnsweringCluster, hasAnswered, type ObservedCluster } from './status.ts'

/** The verdict on two clusters of a set together. Every program shows the verdict's sentence as the headline. */
export interface PairVerdict {
  situation: PairSituation
  severity: ConditionSeverity
  sentence: string
  /**
   * `primary`: the cluster that serves or should serve; absent: no cluster, or both, report that they are the
   * primary
   */
  primary?: AnsweringCluster
}

const judged = (seen: AnsweringCluster) => {
  const { state: condition, severity, sentence } = classifyCluster(seen)
  return { ...seen.answer.status, name: seen.name, condition, severity, sentence }
}
type Judged = ReturnType<typeof judged>

/** Two clusters that have just answered. If exactly one cluster is a primary, it is `a`. */
interface Two {
  a: Judged
  b: Judged
  /** `modes` of both clusters, for example `primary secondary` */
  modes: string
}
interface Row {
  severity: ConditionSeverity
  sentence: (two: Two) => string
  fits: (two: Two) => boolean
}
const rowOf =
  (severity: ConditionSeverity) =>
  (sentence: Row['sentence'], fits: Row['fits']): Row => ({ severity, sentence, fits })
const [good, busy, bad, unknown] = [rowOf('good'), rowOf('busy'), rowOf('bad'), rowOf('unknown')]

const any = ({ a, b }: Two, holds: (one: Judged) => boolean): boolean => holds(a) || holds(b)
/** Returns the names of both clusters. The cluster for which the condition holds comes first. */
const namesBy = ({ a, b }: Two, holds: (one: Judged) => boolean) =>
  holds(b) && !holds(a) ? [b.name, a.name] : [a.name, b.name]
const isPromoting = ({ operation, mode }: Judged) => operation?.name === 'promotion' && mode !== 'primary'
const isStarting = ({ mode }: Judged) => mode === 'bootstrapping'
const follows = ({ hasPrimary }: Judged) => hasPrimary
/**
 * Reports whether the cluster `a` does not know the cluster `b`. A truncated list proves nothing about names that
 * are missing from it.
 */
const isUnknown = ({ a: { known, isKnownCut }, b: { memberName } }: Two) =>
  memberName !== '' && !isKnownCut && !known.includes(memberName)
const isPair = ({ modes }: Two) => modes === 'primary secondary'

/** Situations of two clusters of a set. The first row that matches both clusters applies. */
const rows = {
  'two-sets': bad(
    ({ a, b }) => `${a.name} and ${b.name} belong to different sets. Name two clusters of one set.`,
    ({ a, b }) => a.set !== b.set && a.set !== '' && b.set !== '',
  ),
  'two-primaries': bad(
    ({ a, b }) =>
      `${a.name} and ${b.name} both report that they are the primary, after equally many promotions. Disable DR on the one that should follow.`,
    ({ a, b, modes }) => modes === 'primary primary' && a.promotions === b.promotions,
  ),
  superseded: busy(
    two => {
      const most = Math.max(two.a.promotions, two.b.promotions)
      const [later, earlier] = namesBy(two, ({ promotions }) => promotions === most)
      return `${later} serves. ${earlier} was the primary before; it closes as soon as ${later} reaches it.`
    },
    ({ modes }) => modes === 'primary primary',
  ),
  promoting: busy(
    two => {
      const [to, from] = namesBy(two, isPromoting)
      return `${to} is taking over from ${from}. This needs no action; for some seconds no cluster serves.`
    },
    two => any(two, isPromoting),
  ),
  becoming: busy(
    two => `${namesBy(two, isStarting)[0]} is becoming a secondary: until then it cannot take over.`,
    two => any(two, isStarting),
  ),
  closed: bad(
    ({ a }) => `${a.name} is the primary. ${a.sentence}`,
    ({ a }) => a.condition === 'closed',
  ),
  unjoined: bad(
    ({ a, b }) =>
      `${a.name} serves, and ${b.name} is in no set. Make ${b.name} a secondary: until then, losing ${a.name} loses its latest writes.`,
    ({ modes }) => modes === 'primary disabled',
  ),
  adopting: busy(
    ({ a, b }) => `${a.name} serves, and ${b.name} is about to follow it. This needs no action.`,
    two => isPair(two) && isChangingRole(two.b),
  ),
  unfollowed: bad(
    ({ a, b }) => `${a.name} serves; ${b.name} does not follow it yet.`,
    two => isPair(two) && !follows(two.b),
  ),
  revoked: bad(
    ({ a, b }) =>
      `${a.name} serves and does not know ${b.name}, which was revoked or follows another primary. Make ${b.name} a secondary again, or disable it.`,
    two => isPair(two) && isUnknown(two),
  ),
  'cut-off': bad(
    ({ a, b }) => `${a.name} serves, and ${b.name} has no contact to it.`,
    two => isPair(two) && two.b.condition === 'cut-off',
  ),
  'catching-up': busy(
    ({ a, b }) => `${a.name} serves, and ${b.name} is about to follow it (${b.state}). This needs no action.`,
    two => isPair(two) && two.b.state !== 'stream-wals',
  ),
  following: good(({ a, b }) => `${a.name} serves, and ${b.name} is its secondary.`, isPair),
  'no-set': unknown(
    ({ a, b }) => `Neither ${a.name} nor ${b.name} is in a DR set.`,
    ({ modes }) => modes === 'disabled disabled',
  ),
  'handed-over': bad(
    two => {
      const [to, from] = namesBy(two, follows)
      return `No cluster serves: ${from} has handed over or closed, and ${to} has not taken over yet.`
    },
    ({ a, b, modes }) => modes === 'secondary secondary' && follows(a) !== follows(b),
  ),
  'no-primary': bad(
    () => 'No cluster serves: both are secondaries without a primary. Promote one.',
    two => two.modes === 'secondary secondary' && !any(two, follows),
  ),
  elsewhere: bad(
    ({ a, b }) => {
      const { name, primaryAddress, address } = !follows(a) && follows(b) ? b : a
      return `Neither ${a.name} nor ${b.name} is the primary: ${name} follows ${primaryAddress || address || 'another cluster'}.`
    },
    two => any(two, ({ mode }) => mode === 'secondary'),
  ),
  unknown: unknown(
    ({ a, b }) => `${a.name} and ${b.name} are not a primary and its secondary.`,
    () => true,
  ),
}

export type PairSituation =
  | keyof typeof rows
  /** neither cluster has answered */
  | 'unheard'
  /** only one cluster was named */
  | 'single'
  /** one cluster does not answer, and the answering cluster is the primary, or is not */
  | 'peer-silent'
  | 'primary-silent'

/** Situations of two clusters that answer, in the order in which they are tried. */
export const pairSituations = Object.keys(rows) as readonly PairSituation[]

/**
 * Judges two clusters together.
 * @param peer absent: the program knows one cluster only
 */
export function judgePair(own: ObservedCluster, peer: ObservedCluster | undefined): PairVerdict {
  if (!peer) return judgeSingle(own)
  if (!hasAnswered(own) || !hasAnswered(peer)) return judgeSilent(own, peer)
  const isTurned = own.answer.status.mode !== 'primary' && peer.answer.status.mode === 'primary'
  const [a, b] = isTurned ? [judged(peer), judged(own)] : [judged(own), judged(peer)]
  const two = { a, b, modes: `${a.mode} ${b.mode}` }
  const [name, row] = Object.entries<Row>(rows).find(([, { fits }]) => fits(two)) ?? ['unknown', rows.unknown]
  const situation = name as PairSituation
  const isOne = a.mode === 'primary' && b.mode !== 'primary' && situation !== 'two-sets'
  const verdict = { situation, severity: row.severity, sentence: row.sentence(two) }
  return {
    ...(situation === 'following' ? withConditions(verdict, two) : verdict),
    ...(isOne && { primary: isTurned ? peer : own }),
  }
}

function judgeSingle(own: ObservedCluster): PairVerdict {
  const { severity, sentence } = classifyCluster(own)
  return {
    situation: hasAnswered(own) ? 'single' : 'unheard',
    severity: severity === 'good' ? 'unknown' : severity,
    sentence: hasAnswered(own)
      ? `No other cluster is named, so the state of the set is unknown. ${own.name}: ${sentence}`
      : `${own.name} has not answered yet, so the state of the set is unknown.`,
  }
}

function judgeSilent(own: ObservedCluster, peer: ObservedCluster): PairVerdict {
  const [heard, other] = hasAnswered(own) ? [own, peer] : [peer, own]
  if (!hasAnswered(heard))
    return {
      situation: 'unheard',
      severity: 'unknown',
      sentence: `Neither ${own.name} nor ${peer.name} answers, so the state of the set is unknown.`,
    }
  const serves = heard.answer.status.mode === 'primary' && heard.answer.health === 200
  return {
    situation: serves ? 'peer-silent' : 'primary-silent',
    severity: other.silent ? 'bad' : 'unknown',
    sentence: serves
      ? `${heard.name} serves. ${other.name} does not answer: if ${heard.name} is lost now, its latest writes may be lost.`
      : `Only ${heard.name} answers here, and it does not serve. Check from another network before you promote a cluster.`,
  }
}

const BY_SEVERITY: readonly ConditionSeverity[] = ['bad', 'busy', 'unknown', 'good']
/** Returns the worst verdict; of several equally bad verdicts, the first. */
const worstOf = <T extends { severity: ConditionSeverity }>(all: readonly T[]): T | undefined =>
  all.toSorted((a, b) => BY_SEVERITY.indexOf(a.severity) - BY_SEVERITY.indexOf(b.severity))[0]

/** Lowers the verdict on a pair in replication to the worse condition of its clusters. */
function withConditions(verdict: PairVerdict, { a, b }: Two): PairVerdict {
  const { severity, name, sentence } = worstOf([a, b]) ?? a
  return severity === 'good'
    ? verdict
    : { ...verdict, severity, sentence: `${verdict.sentence} ${name}: ${sentence}` }
}

/** Situations whose sentence repeats the fault of one cluster. */
const ALREADY_A_FAULT: readonly PairSituation[] = [
  'following',
  'closed',
  'becoming',
  'peer-silent',
  'primary-silent',
  'unheard',
]

/**
 * Judges clusters that were observed at the same time.
 * @returns the worst verdict of the primary with each other cluster, and the fault of each cluster
 */
export function judgeSet(seen: readonly ObservedCluster[]) {
  const primary = seen.find(one => hasAnswered(one) && one.answer.status.mode === 'primary') ??
    seen[0] ?? { name: '' }
  const verdicts = seen.filter(one => one !== primary).map(one => judgePair(primary, one))
  const verdict = worstOf(verdicts) ?? judgePair(primary, undefined)
  const faults = seen
    .map(one => ({ name: one.name, ...classifyCluster(one) }))
    .filter(({ severity, state }) => severity !== 'good' || state === 'disabled')
    .map(({ name, sentence }) => `${name}: ${sentence}`)
  const isMore = seen.length > 1 && !ALREADY_A_FAULT.includes(verdict.situation)
  return { verdict, faults: isMore ? [...faults, verdict.sentence] : faults }
}
