import { changesRole, classifyCluster, type Severity, sentenceOf } from './condition.ts'
import { type ClusterHeard, type ClusterSeen, isHeard } from './status.ts'

/** Two clusters judged together. Its sentence is the headline of every program. */
export interface PairVerdict {
  situation: Situation
  severity: Severity
  sentence: string
  /** the one that serves, or is to; absent: no cluster, or two, say that they are the primary */
  primary?: ClusterHeard
  /** what it is to its primary; absent where `primary` is */
  secondary?: ClusterHeard
}

/** Two clusters that have just answered. Where exactly one is a primary, `a` is it. */
interface Two {
  a: ClusterHeard
  b: ClusterHeard
}

interface Row {
  severity: Severity
  fits: (two: Two) => boolean
  sentence: (two: Two) => string
}

const statusOf = ({ word }: ClusterHeard) => word.status
const modeOf = (one: ClusterHeard): string => statusOf(one).mode
const promoting = (one: ClusterHeard): boolean =>
  statusOf(one).operation?.name === 'promotion' && modeOf(one) !== 'primary'
const hasPrimary = ({ a }: Two): boolean => modeOf(a) === 'primary'
const both = ({ a, b }: Two, mode: string): boolean => modeOf(a) === mode && modeOf(b) === mode
const any = ({ a, b }: Two, holds: (one: ClusterHeard) => boolean): boolean => holds(a) || holds(b)
/** The one of two that comes first by a number. */
const most = ({ a, b }: Two, by: (one: ClusterHeard) => number): [ClusterHeard, ClusterHeard] =>
  by(a) >= by(b) ? [a, b] : [b, a]
const promotionsOf = (one: ClusterHeard): number => statusOf(one).promotions
const follows = (one: ClusterHeard): boolean => statusOf(one).hasPrimary

/** Whether a primary has ended the admission of a secondary, as far as its list of names tells. */
const isRevoked = ({ a, b }: Two): boolean => {
  const { memberName } = statusOf(b)
  const { known, isKnownCut } = statusOf(a)
  return memberName !== '' && !isKnownCut && !known.includes(memberName)
}

/** Situations of two clusters, in the order in which they are tried. */
const rows = {
  'two-sets': {
    severity: 'bad',
    fits: ({ a, b }) =>
      statusOf(a).set !== statusOf(b).set && statusOf(a).set !== '' && statusOf(b).set !== '',
    sentence: ({ a, b }) =>
      `${a.name} and ${b.name} are of different sets. They should be of one, or another cluster should be named.`,
  },
  'two-primaries': {
    severity: 'bad',
    fits: two => both(two, 'primary') && promotionsOf(two.a) === promotionsOf(two.b),
    sentence: ({ a, b }) =>
      `${a.name} and ${b.name} both say that they are the primary, and were promoted equally often. Disable DR on the one that should follow.`,
  },
  superseded: {
    severity: 'busy',
    fits: two => both(two, 'primary'),
    sentence: two => {
      const [later, earlier] = most(two, promotionsOf)
      return `${later.name} serves. ${earlier.name} was the primary before, has not heard of it yet, and closes when it does.`
    },
  },
  promoting: {
    severity: 'busy',
    fits: two => any(two, promoting),
    sentence: two => {
      const [to, from] = most(two, one => Number(promoting(one)))
      return `${to.name} is taking over from ${from.name}. That goes on by itself; for some seconds nobody serves.`
    },
  },
  becoming: {
    severity: 'busy',
    fits: two => any(two, one => modeOf(one) === 'bootstrapping'),
    sentence: two => {
      const [starting] = most(two, one => Number(modeOf(one) === 'bootstrapping'))
      return `${starting.name} is becoming a secondary: until then it cannot take over.`
    },
  },
  closed: {
    severity: 'bad',
    fits: two => hasPrimary(two) && classifyCluster(two.a).state === 'closed',
    sentence: ({ a }) => `${a.name} is the primary. ${sentenceOf(classifyCluster(a))}`,
  },
  unjoined: {
    severity: 'bad',
    fits: two => hasPrimary(two) && modeOf(two.b) === 'disabled',
    sentence: ({ a, b }) =>
      `${a.name} serves, and ${b.name} is in no set. It should be a secondary: what is written now would be lost with ${a.name}.`,
  },
  adopting: {
    severity: 'busy',
    fits: two => hasPrimary(two) && modeOf(two.b) === 'secondary' && changesRole(statusOf(two.b)),
    sentence: ({ a, b }) => `${a.name} serves, and ${b.name} is about to follow it, by itself.`,
  },
  unfollowed: {
    severity: 'bad',
    fits: two => hasPrimary(two) && modeOf(two.b) === 'secondary' && !follows(two.b),
    sentence: ({ a, b }) => `${a.name} serves; ${b.name} follows nobody yet.`,
  },
  revoked: {
    severity: 'bad',
    fits: two => hasPrimary(two) && modeOf(two.b) === 'secondary' && isRevoked(two),
    sentence: ({ a, b }) =>
      `${a.name} serves, and does not know ${b.name}: it was revoked, or follows another primary. It should be a secondary, or be disabled.`,
  },
  'cut-off': {
    severity: 'bad',
    fits: two =>
      hasPrimary(two) && modeOf(two.b) === 'secondary' && classifyCluster(two.b).state === 'cut-off',
    sentence: ({ a, b }) => `${a.name} serves, and ${b.name} does not hear it.`,
  },
  'catching-up': {
    severity: 'busy',
    fits: two => hasPrimary(two) && modeOf(two.b) === 'secondary' && statusOf(two.b).state !== 'stream-wals',
    sentence: ({ a, b }) =>
      `${a.name} serves, and ${b.name} is about to follow it (${statusOf(b).state}), by itself.`,
  },
  following: {
    severity: 'good',
    fits: two => hasPrimary(two) && modeOf(two.b) === 'secondary',
    sentence: ({ a, b }) => `${a.name} serves, and ${b.name} is its secondary.`,
  },
  'no-set': {
    severity: 'unknown',
    fits: two => both(two, 'disabled'),
    sentence: ({ a, b }) => `Neither ${a.name} nor ${b.name} is in a DR set.`,
  },
  'handed-over': {
    severity: 'bad',
    fits: two => both(two, 'secondary') && follows(two.a) !== follows(two.b),
    sentence: two => {
      const [to, from] = most(two, one => Number(follows(one)))
      return `Nobody serves: ${from.name} has handed over or closed, and ${to.name} has not taken over yet.`
    },
  },
  'no-primary': {
    severity: 'bad',
    fits: two => both(two, 'secondary') && !any(two, follows),
    sentence: () => 'Both are secondaries that follow nobody, so nobody serves. One should be promoted.',
  },
  elsewhere: {
    severity: 'bad',
    fits: two => any(two, one => modeOf(one) === 'secondary'),
    sentence: two => {
      const [following] = most(two, one => Number(follows(one)))
      const { primaryAddress, address } = statusOf(following)
      return `Neither ${two.a.name} nor ${two.b.name} is the primary: ${following.name} follows ${primaryAddress || address || 'another cluster'}.`
    },
  },
  unknown: {
    severity: 'unknown',
    fits: () => true,
    sentence: ({ a, b }) => `${a.name} and ${b.name} are no pair of primary and secondary. They should be.`,
  },
} satisfies Readonly<Record<string, Row>>

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
export function judgePair(own: ClusterSeen, peer: ClusterSeen | undefined): PairVerdict {
  if (!peer) return judgeSingle(own)
  if (!isHeard(own) || !isHeard(peer)) return judgeSilent(own, peer)
  const two =
    modeOf(own) !== 'primary' && modeOf(peer) === 'primary' ? { a: peer, b: own } : { a: own, b: peer }
  const [situation, { severity, sentence }] = Object.entries<Row>(rows).find(([, { fits }]) => fits(two)) ?? [
    'unknown',
    rows.unknown,
  ]
  const isPair = hasPrimary(two) && !both(two, 'primary') && situation !== 'two-sets'
  const roles = isPair ? { primary: two.a, secondary: two.b } : {}
  const verdict = { situation: situation as Situation, severity, sentence: sentence(two), ...roles }
  return situation === 'following' ? withConditions(verdict, two) : verdict
}

function judgeSingle(own: ClusterSeen): PairVerdict {
  const condition = classifyCluster(own)
  return {
    situation: isHeard(own) ? 'single' : 'unheard',
    severity: condition.severity === 'good' ? 'unknown' : condition.severity,
    sentence: isHeard(own)
      ? `No other cluster is named, so nothing is known of the set. ${own.name}: ${sentenceOf(condition)}`
      : `${own.name} has not answered yet, so nothing is known of the set.`,
  }
}

function judgeSilent(own: ClusterSeen, peer: ClusterSeen): PairVerdict {
  const [heard, other] = isHeard(own) ? [own, peer] : [peer, own]
  if (!isHeard(heard))
    return {
      situation: 'unheard',
      severity: 'unknown',
      sentence: `Neither ${own.name} nor ${peer.name} answers, so nothing is known of the set.`,
    }
  const serves = modeOf(heard) === 'primary' && heard.word.health === 200
  return {
    situation: serves ? 'peer-silent' : 'primary-silent',
    severity: other.silent ? 'bad' : 'unknown',
    sentence: serves
      ? `${heard.name} serves. ${other.name} does not answer: what is written now may be lost with ${heard.name}.`
      : `Only ${heard.name} can be heard from here, and it does not serve. Look from elsewhere before anybody is promoted.`,
  }
}

/** A pair that follows is as well as both clusters are. */
function withConditions(verdict: PairVerdict, { a, b }: Two): PairVerdict {
  const [worst] = [a, b]
    .map(one => ({ name: one.name, ...classifyCluster(one) }))
    .filter(({ severity }) => severity !== 'good')
    .toSorted((one, other) => Number(other.severity === 'bad') - Number(one.severity === 'bad'))
  return worst
    ? {
        ...verdict,
        severity: worst.severity,
        sentence: `${verdict.sentence} ${worst.name}: ${sentenceOf(worst)}`,
      }
    : verdict
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
export function judgeSet(seen: readonly ClusterSeen[]): SetVerdict {
  const primary = seen.find(one => isHeard(one) && modeOf(one) === 'primary') ?? seen[0]
  const verdicts = seen
    .filter(one => one !== primary)
    .map(one => (primary ? judgePair(primary, one) : judgePair(one, undefined)))
  const order: readonly Severity[] = ['bad', 'busy', 'unknown', 'good']
  const [worst] = verdicts.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
  const verdict = worst ?? judgePair(seen[0] ?? { name: '' }, undefined)
  const faults = seen
    .map(one => ({ name: one.name, ...classifyCluster(one) }))
    .filter(({ severity, state }) => severity !== 'good' || state === 'disabled')
    .map(one => `${one.name}: ${sentenceOf(one)}`)
  const isMore = seen.length > 1 && !ALREADY_A_FAULT.includes(verdict.situation)
  return { verdict, faults: isMore ? [...faults, verdict.sentence] : faults }
}
