import { clipText } from '../values/words.ts'
import { type ClusterState, type ConditionSeverity, classifyCluster, isChangingRole } from './condition.ts'
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
  const { status, health, at } = seen.answer
  return { ...status, name: seen.name, health, at, condition, severity, sentence }
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
const isClosed = (one: Judged) =>
  one.mode === 'primary' && !isChangingRole(one) && (one.state !== 'running' || one.health !== 200)
const alone = ({ a, b }: Two): string => `Until ${b.name} follows, losing ${a.name} loses its latest writes.`

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
    ({ a }) =>
      a.condition === 'failing'
        ? `${a.name} is the primary, and does not serve. ${a.sentence}`
        : `${a.name} is the primary. ${a.sentence}`,
    ({ a }) => isClosed(a),
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
    two => `${two.a.name} serves; ${two.b.name} does not follow it yet. ${alone(two)}`,
    two => isPair(two) && !follows(two.b),
  ),
  revoked: bad(
    ({ a, b }) =>
      `${a.name} serves and does not know ${b.name}, which was revoked or follows another primary. Make ${b.name} a secondary again, or disable it.`,
    two => isPair(two) && isUnknown(two),
  ),
  'cut-off': bad(
    two => `${two.a.name} serves, and ${two.b.name} has no contact to it. ${alone(two)}`,
    two => isPair(two) && two.b.connection !== 'ready',
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
      return `No cluster serves: ${from} has handed over or closed, and ${to} has not taken over yet. If this lasts ten seconds, request the promotion of ${to} again.`
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
 * Judges two clusters together. The sentence names a running change of a role first, else the worst fault.
 * @param peer absent: the program knows one cluster only
 */
export function judgePair(own: ObservedCluster, peer: ObservedCluster | undefined): PairVerdict {
  const verdict = peer ? judgeBoth(own, peer) : judgeSingle(own)
  return { ...verdict, sentence: clipText(verdict.sentence) }
}

function judgeBoth(own: ObservedCluster, peer: ObservedCluster): PairVerdict {
  if (!hasAnswered(own) || !hasAnswered(peer)) return judgeSilent(own, peer)
  const isTurned = own.answer.status.mode !== 'primary' && peer.answer.status.mode === 'primary'
  const [a, b] = isTurned ? [judged(peer), judged(own)] : [judged(own), judged(peer)]
  const two = { a, b, modes: `${a.mode} ${b.mode}` }
  const [name, row] = Object.entries<Row>(rows).find(([, { fits }]) => fits(two)) ?? ['unknown', rows.unknown]
  const situation = name as PairSituation
  const isOne = a.mode === 'primary' && b.mode !== 'primary' && situation !== 'two-sets'
  const verdict = { situation, severity: row.severity, sentence: row.sentence(two) }
  return { ...withConditions(verdict, [a, b]), ...(isOne && { primary: isTurned ? peer : own }) }
}

function judgeSingle(own: ObservedCluster): PairVerdict {
  if (!hasAnswered(own))
    return {
      situation: 'unheard',
      severity: own.silent ? 'bad' : 'unknown',
      sentence: own.silent
        ? `${own.name} does not answer. ${classifyCluster(own).sentence}`
        : `${own.name} has not answered yet.`,
    }
  const { mode, severity, sentence } = judged(own)
  const isMember = mode === 'primary' || mode === 'secondary'
  return isMember && severity === 'good'
    ? {
        situation: 'single',
        severity: 'unknown',
        sentence: `No other cluster is named, so the state of the set is unknown. ${own.name}: ${sentence}`,
      }
    : { situation: 'single', severity, sentence: `${own.name}: ${sentence}` }
}

function judgeSilent(own: ObservedCluster, peer: ObservedCluster): PairVerdict {
  const [heard, other] = hasAnswered(own) ? [own, peer] : [peer, own]
  const severity = other.silent ? 'bad' : 'unknown'
  if (!hasAnswered(heard))
    return {
      situation: 'unheard',
      severity: own.silent && peer.silent ? 'bad' : 'unknown',
      sentence: `Neither ${own.name} nor ${peer.name} answers, so the state of the set is unknown.`,
    }
  const one = judged(heard)
  const situation = one.mode === 'primary' && one.health === 200 ? 'peer-silent' : 'primary-silent'
  return withConditions({ situation, severity, sentence: silentSentence(one, other) }, [one])
}

function silentSentence(one: Judged, { name, silent }: ObservedCluster): string {
  const missing = silent ? 'does not answer' : 'has not answered yet'
  if (one.health === 200)
    return one.condition === 'serving'
      ? `${one.name} serves, and a secondary is connected. ${name} ${missing} here.`
      : `${one.name} serves. ${name} ${missing}: if ${one.name} is lost now, its latest writes may be lost.`
  if (one.mode === 'primary') return `${one.name} is the primary. ${one.sentence} ${name} ${missing}.`
  const last = one.primary?.lastHeartbeat.replace(/\.\d+Z$/, 'Z')
  const contact = last ? ` Its primary last answered it at ${last}.` : ''
  return `Only ${one.name} answers here, and it does not serve.${contact} Check from another network before you promote a cluster.`
}

/** Faults that a broken link does not explain. */
const OWN_FAULTS: readonly ClusterState[] = ['uninitialised', 'corrupted', 'failing', 'activation-failed']
/** Situations in which a running operation does not explain the fault. */
const NO_OPERATION_HELPS: readonly PairSituation[] = ['two-sets', 'two-primaries']

/**
 * Lets the sentence begin with a running operation, and adds the faults of each cluster. A healthy pair gets the
 * worst condition of its clusters.
 */
function withConditions(verdict: PairVerdict, both: readonly Judged[]): PairVerdict {
  const { situation } = verdict
  const running = both.find(({ condition }) => condition === 'changing')
  const isBusy = verdict.severity === 'busy' || NO_OPERATION_HELPS.includes(situation)
  if (running && !isBusy) {
    const { sentence } = sentenceOf(running)
    const said = running.health === 200 ? `${verdict.sentence} ${sentence}` : sentence
    return withFaults({ ...verdict, severity: 'busy', sentence: said }, both)
  }
  if (situation !== 'following') return withFaults(verdict, both)
  const [a, b] = both
  if (a?.condition === 'alone' && b?.condition === 'streaming')
    return {
      ...verdict,
      severity: 'busy',
      sentence: `${verdict.sentence} ${a.name} has not received a heartbeat of ${b.name} yet.`,
    }
  const worst = worstOf(both)
  return worst && worst.severity !== 'good' ? withFaults({ ...verdict, ...sentenceOf(worst) }, both) : verdict
}

const sentenceOf = ({ name, severity, sentence }: Judged) => ({ severity, sentence: `${name}: ${sentence}` })

function withFaults(verdict: PairVerdict, both: readonly Judged[]): PairVerdict {
  const more = both.filter(
    ({ condition, sentence }) => OWN_FAULTS.includes(condition) && !verdict.sentence.includes(sentence),
  )
  if (more.length === 0) return verdict
  const sentences = more.map(one => sentenceOf(one).sentence)
  return { ...verdict, severity: 'bad', sentence: [verdict.sentence, ...sentences].join(' ') }
}

const BY_SEVERITY: readonly ConditionSeverity[] = ['bad', 'busy', 'unknown', 'good']
/** Returns the worst item; of several equally bad items, the first. */
export const worstOf = <T extends { severity: ConditionSeverity }>(all: readonly T[]): T | undefined =>
  all.toSorted((a, b) => BY_SEVERITY.indexOf(a.severity) - BY_SEVERITY.indexOf(b.severity))[0]
