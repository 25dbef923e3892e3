import { changesRole, classifyCluster, type Severity } from './condition.ts'
import { type AnsweringCluster, hasAnswered, type ObservedCluster } from './status.ts'

/** Two clusters judged together. Its sentence is the headline of every program. */
export interface PairVerdict {
  situation: Situation
  severity: Severity
  sentence: string
  /** the one that serves, or is to; absent: no cluster, or two, say that they are the primary */
  primary?: AnsweringCluster
}

const judged = (seen: AnsweringCluster) => {
  const { state: condition, severity, sentence } = classifyCluster(seen)
  return { ...seen.answer.status, name: seen.name, condition, severity, sentence }
}
type Judged = ReturnType<typeof judged>

/** Two clusters that have just answered. Where exactly one is a primary, `a` is it. */
interface Two {
  a: Judged
  b: Judged
  /** of both, for example `primary secondary` */
  modes: string
}
interface Row {
  severity: Severity
  sentence: (two: Two) => string
  fits: (two: Two) => boolean
}
const rowOf =
  (severity: Severity) =>
  (sentence: Row['sentence'], fits: Row['fits']): Row => ({ severity, sentence, fits })
const [good, busy, bad, unknown] = [rowOf('good'), rowOf('busy'), rowOf('bad'), rowOf('unknown')]

const any = ({ a, b }: Two, holds: (one: Judged) => boolean): boolean => holds(a) || holds(b)
/** Names both, first the one that a condition holds for. */
const namesBy = ({ a, b }: Two, holds: (one: Judged) => boolean) =>
  holds(b) && !holds(a) ? [b.name, a.name] : [a.name, b.name]
const isPromoting = ({ operation, mode }: Judged) => operation?.name === 'promotion' && mode !== 'primary'
const isStarting = ({ mode }: Judged) => mode === 'bootstrapping'
const follows = ({ hasPrimary }: Judged) => hasPrimary
/** Reports whether `a` does not know `b`. A list of names that was cut does not say who is missing from it. */
const isUnknown = ({ a: { known, isKnownCut }, b: { memberName } }: Two) =>
  memberName !== '' && !isKnownCut && !known.includes(memberName)
const isPair = ({ modes }: Two) => modes === 'primary secondary'

/** Situations of two clusters. They are in the first that fits. */
const rows = {
  'two-sets': bad(
    ({ a, b }) =>
      `${a.name} and ${b.name} are of different sets. They should be of one, or another cluster should be named.`,
    ({ a, b }) => a.set !== b.set && a.set !== '' && b.set !== '',
  ),
  'two-primaries': bad(
    ({ a, b }) =>
      `${a.name} and ${b.name} both say that they are the primary, and were promoted equally often. Disable DR on the one that should follow.`,
    ({ a, b, modes }) => modes === 'primary primary' && a.promotions === b.promotions,
  ),
  superseded: busy(
    two => {
      const most = Math.max(two.a.promotions, two.b.promotions)
      const [later, earlier] = namesBy(two, ({ promotions }) => promotions === most)
      return `${later} serves. ${earlier} was the primary before, has not heard of it yet, and closes when it does.`
    },
    ({ modes }) => modes === 'primary primary',
  ),
  promoting: busy(
    two => {
      const [to, from] = namesBy(two, isPromoting)
      return `${to} is taking over from ${from}. That goes on by itself; for some seconds nobody serves.`
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
      `${a.name} serves, and ${b.name} is in no set. It should be a secondary: what is written now would be lost with ${a.name}.`,
    ({ modes }) => modes === 'primary disabled',
  ),
  adopting: busy(
    ({ a, b }) => `${a.name} serves, and ${b.name} is about to follow it, by itself.`,
    two => isPair(two) && changesRole(two.b),
  ),
  unfollowed: bad(
    ({ a, b }) => `${a.name} serves; ${b.name} follows nobody yet.`,
    two => isPair(two) && !follows(two.b),
  ),
  revoked: bad(
    ({ a, b }) =>
      `${a.name} serves, and does not know ${b.name}: it was revoked, or follows another primary. It should be a secondary, or be disabled.`,
    two => isPair(two) && isUnknown(two),
  ),
  'cut-off': bad(
    ({ a, b }) => `${a.name} serves, and ${b.name} does not hear it.`,
    two => isPair(two) && two.b.condition === 'cut-off',
  ),
  'catching-up': busy(
    ({ a, b }) => `${a.name} serves, and ${b.name} is about to follow it (${b.state}), by itself.`,
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
      return `Nobody serves: ${from} has handed over or closed, and ${to} has not taken over yet.`
    },
    ({ a, b, modes }) => modes === 'secondary secondary' && follows(a) !== follows(b),
  ),
  'no-primary': bad(
    () => 'Both are secondaries that follow nobody, so nobody serves. One should be promoted.',
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
    ({ a, b }) => `${a.name} and ${b.name} are no pair of primary and secondary. They should be.`,
    () => true,
  ),
}

export type Situation =
  | keyof typeof rows
  /** no cluster has answered */
  | 'unheard'
  /** one cluster was named alone */
  | 'single'
  /** one of two does not answer, and the other one is the primary, or is none */
  | 'peer-silent'
  | 'primary-silent'

/** Situations of two clusters that answer, in the order in which they are tried. */
export const situations = Object.keys(rows) as readonly Situation[]

/**
 * Judges two clusters together.
 * @param peer absent: the program knows of one cluster
 */
export function judgePair(own: ObservedCluster, peer: ObservedCluster | undefined): PairVerdict {
  if (!peer) return judgeSingle(own)
  if (!hasAnswered(own) || !hasAnswered(peer)) return judgeSilent(own, peer)
  const isTurned = own.answer.status.mode !== 'primary' && peer.answer.status.mode === 'primary'
  const [a, b] = isTurned ? [judged(peer), judged(own)] : [judged(own), judged(peer)]
  const two = { a, b, modes: `${a.mode} ${b.mode}` }
  const [name, row] = Object.entries<Row>(rows).find(([, { fits }]) => fits(two)) ?? ['unknown', rows.unknown]
  const situation = name as Situation
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
      ? `No other cluster is named, so nothing is known of the set. ${own.name}: ${sentence}`
      : `${own.name} has not answered yet, so nothing is known of the set.`,
  }
}

function judgeSilent(own: ObservedCluster, peer: ObservedCluster): PairVerdict {
  const [heard, other] = hasAnswered(own) ? [own, peer] : [peer, own]
  if (!hasAnswered(heard))
    return {
      situation: 'unheard',
      severity: 'unknown',
      sentence: `Neither ${own.name} nor ${peer.name} answers, so nothing is known of the set.`,
    }
  const serves = heard.answer.status.mode === 'primary' && heard.answer.health === 200
  return {
    situation: serves ? 'peer-silent' : 'primary-silent',
    severity: other.silent ? 'bad' : 'unknown',
    sentence: serves
      ? `${heard.name} serves. ${other.name} does not answer: what is written now may be lost with ${heard.name}.`
      : `Only ${heard.name} can be heard from here, and it does not serve. Look from elsewhere before anybody is promoted.`,
  }
}

const BY_SEVERITY: readonly Severity[] = ['bad', 'busy', 'unknown', 'good']
/** Returns the worst, the first of several. */
const worstOf = <T extends { severity: Severity }>(all: readonly T[]): T | undefined =>
  all.toSorted((a, b) => BY_SEVERITY.indexOf(a.severity) - BY_SEVERITY.indexOf(b.severity))[0]

/** A pair that follows is as well as both clusters are. */
function withConditions(verdict: PairVerdict, { a, b }: Two): PairVerdict {
  const { severity, name, sentence } = worstOf([a, b]) ?? a
  return severity === 'good'
    ? verdict
    : { ...verdict, severity, sentence: `${verdict.sentence} ${name}: ${sentence}` }
}

/** Situations whose sentence the fault of one cluster has already. */
const ALREADY_A_FAULT: readonly Situation[] = [
  'following',
  'closed',
  'becoming',
  'peer-silent',
  'primary-silent',
  'unheard',
]

/** What is said of several clusters: the worst verdict on the primary and each other one, and a fault for each cluster. */
export interface SetVerdict {
  verdict: PairVerdict
  faults: readonly string[]
}

/** Judges clusters that were looked at together. */
export function judgeSet(seen: readonly ObservedCluster[]): SetVerdict {
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
