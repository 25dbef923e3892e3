import { judgePair, type PairVerdict, type Situation } from './pair.ts'
import { type ClusterSeen, isHeard } from './status.ts'

/** In a change of roles `from` hands over, or is lost, and `to` takes over. */
export type Side = 'from' | 'to'
const otherSide = (side: Side): Side => (side === 'from' ? 'to' : 'from')
export type SeenPair = Readonly<Record<Side, ClusterSeen>>

/** What a goal may do: `admit` deletes the data of a cluster in no set; `readmit` has one follow that was revoked or is not heard. */
export type SetAction = 'enable' | 'admit' | 'promote' | 'force' | 'follow' | 'readmit'

/** What goes on by itself. */
export type Wait =
  | 'silence'
  | 'obstacle'
  | 'operation'
  | 'closing'
  | 'journal'
  | 'activation'
  | 'contact'
  | 'catching-up'

/** What two clusters should come to, and by which rules. @see docs/adr/0017-one-judgement-of-a-set.md */
export interface Goal {
  kind: 'follow' | 'switch' | 'switchBack' | 'join' | 'takeOver'
  may: readonly SetAction[]
  /** of `join` and `follow`: who is to be the primary; absent: whoever is, else `from` */
  primary?: Side
  /** milliseconds for which each may take */
  waits: Readonly<Record<Wait, number>>
}

const MINUTE_MS = 60_000
/** How long to wait for clusters that are deployed. */
export const waits: Goal['waits'] = {
  silence: 30_000,
  obstacle: 30_000,
  operation: 10 * MINUTE_MS,
  closing: 10 * MINUTE_MS,
  journal: 60 * MINUTE_MS,
  activation: 60 * MINUTE_MS,
  contact: 15 * MINUTE_MS,
  'catching-up': 15 * MINUTE_MS,
}

/** How far a change of roles has come: who is to serve, that the other follows, that it has caught up. */
export const stages = ['promote', 'follow', 'settle'] as const
export type Stage = (typeof stages)[number]

type Stop = { readonly do: 'stop'; readonly exit: 'refused' | 'unreachable' | 'unwell'; readonly why: string }
type Doing =
  | { readonly do: 'enable'; readonly primary: Side }
  | { readonly do: 'admit' | 'follow' | 'readmit'; readonly primary: Side; readonly secondary: Side }
  | {
      readonly do: 'promote'
      readonly to: Side
      readonly force: boolean /** a promotion that runs is joined */
      readonly resumed: boolean
    }
  | { readonly do: 'done' }
  | Stop

type Found =
  | Doing
  | { readonly do: 'wait'; readonly for: Wait; readonly what: string; readonly otherwise: Doing }

/** The next step. `where`: the place that the pair has come to, in a sentence. */
export type Step = { readonly where: string; readonly stage: Stage } & Found

interface Judged {
  pair: SeenPair
  goal: Goal
  verdict: PairVerdict
  /** who is to serve */
  to: Side
}

const stop = (why: string, exit: Stop['exit'] = 'refused'): Stop => ({ do: 'stop', exit, why })
const wait = (
  reason: Wait,
  what: string,
  otherwise: Doing = stop(`it takes too long until ${what}`, 'unwell'),
): Found => ({ do: 'wait', for: reason, what, otherwise })

/**
 * Decides by what both clusters say now and by nothing else, so a program that was broken off goes on where the pair is.
 */
export function nextStep(pair: SeenPair, goal: Goal): Step {
  const verdict = judgePair(pair.from, pair.to)
  const to = goal.kind === 'switchBack' ? 'from' : 'to'
  const judged = { pair, goal, verdict, to } as const
  const isJoin = goal.kind === 'join' || goal.kind === 'follow'
  const serves = verdict.primary === undefined ? isLater(judged) : verdict.primary === pair[to]
  const found = isJoin
    ? stepOfJoin(judged)
    : serves
      ? stepBehind(judged)
      : goal.kind === 'takeOver'
        ? stepOfTakeOver(judged)
        : stepBefore(judged)
  const stage = !serves && !isJoin ? 'promote' : isSettling(found) ? 'settle' : 'follow'
  return { where: verdict.sentence, stage, ...allowed(found, goal.may) }
}

/** Whether `to` was promoted later than the other, which still says that it is the primary; or answers alone, and serves. */
function isLater({ pair, to, verdict: { situation } }: Judged): boolean {
  const [own, other] = [pair[to], pair[otherSide(to)]]
  if (situation === 'peer-silent') return isHeard(own)
  return (
    situation === 'superseded' &&
    isHeard(own) &&
    isHeard(other) &&
    own.word.status.promotions > other.word.status.promotions
  )
}

const isSettling = (found: Found): boolean =>
  found.do === 'done' || (found.do === 'wait' && found.for === 'catching-up')

/** Stops before what the goal may not do. */
function allowed(found: Found, may: Goal['may']): Found {
  return found.do === 'wait'
    ? { ...found, otherwise: allowedDoing(found.otherwise, may) }
    : allowedDoing(found, may)
}

function allowedDoing(found: Doing, may: Goal['may']): Doing {
  const action = found.do === 'promote' && found.force ? 'force' : found.do
  if (action === 'done' || action === 'stop' || may.includes(action)) return found
  return stop(`${FOR_OPERATORS[action]} is for an operator to do`)
}

const FOR_OPERATORS: Readonly<Record<SetAction, string>> = {
  enable: 'enabling a primary',
  admit: 'deleting the data of a cluster so that it becomes a secondary',
  promote: 'promoting a secondary',
  force: 'promoting a secondary by force',
  follow: 'having a former primary follow',
  readmit: 'admitting that secondary again',
}

const silent: readonly Situation[] = ['unheard', 'peer-silent', 'primary-silent', 'single']
const isSilent = ({ verdict }: Judged): boolean => silent.includes(verdict.situation)

/** Waits for whoever does not answer; a program that has not begun does not. */
function silence({ pair }: Judged, hint = '', reason: Wait = 'silence'): Found {
  const away = [pair.to, pair.from].find(one => !isHeard(one)) ?? pair.to
  const why = `${away.name}: ${away.silent?.why ?? 'it said nothing'}${hint}`
  return wait(reason, `${away.name} answers`, stop(why, 'unreachable'))
}

const operationOf = (one: ClusterSeen) => one.word?.status.operation
const stateOf = (one: ClusterSeen): string => one.word?.status.state || String(one.word?.status.mode)

/** `to` serves: what is left is that the other cluster follows it. */
function stepBehind(judged: Judged): Found {
  const { goal, verdict, to, pair } = judged
  const [own, other] = [pair[to], pair[otherSide(to)]]
  const catching = wait('catching-up', `${other.name} follows ${own.name}`)
  if (isSilent(judged)) return silence(judged, '', goal.kind === 'takeOver' ? 'closing' : 'silence')
  switch (verdict.situation) {
    case 'superseded':
      return wait('closing', `${other.name} hears of ${own.name}, and closes`)
    case 'closed':
      return wait('journal', `${own.name} serves`)
    case 'unfollowed':
      return { do: 'follow', primary: to, secondary: otherSide(to) }
    case 'becoming':
    case 'adopting':
    case 'catching-up':
    case 'cut-off':
      return catching
    case 'following':
      return operationOf(other) ? catching : { do: 'done' }
    default:
      return stop(`${other.name} is ${stateOf(other)}`)
  }
}

const promoteTo = (to: Side, resumed: boolean, force = false): Doing => ({
  do: 'promote',
  to,
  resumed,
  force,
})
const stopBusy = (one: ClusterSeen): Stop =>
  stop(`${one.name}: ${operationOf(one)?.name} is under way; wait for its end`)

/** `to` does not serve yet. */
function stepBefore(judged: Judged): Found {
  const { verdict, to, pair } = judged
  const { situation, primary } = verdict
  const [own, other] = [pair[to], pair[otherSide(to)]]
  if (isSilent(judged)) return silence(judged, '; where a cluster is lost, see docs/runbooks/disaster.md')
  if (operationOf(own)?.name === 'promotion') return promoteTo(to, true)
  const busy = [own, other].find(operationOf)
  if (busy) return stopBusy(busy)
  if (situation === 'handed-over' && own.word?.status.hasPrimary) return promoteTo(to, true)
  if (primary === undefined) return stop('no planned switch is possible')
  if (own.word?.status.mode !== 'secondary') return stop(`${own.name} is no secondary, but ${stateOf(own)}`)
  const isFollowing = stateOf(own) === 'stream-wals' && situation !== 'revoked' && situation !== 'cut-off'
  return isFollowing
    ? promoteTo(to, false)
    : stop(`${own.name} does not stream from its primary: its state is ${stateOf(own)}`)
}

/** `to` takes over from a cluster that is lost. */
function stepOfTakeOver(judged: Judged): Found {
  const { verdict, to, pair } = judged
  const [own, other] = [pair[to], pair[otherSide(to)]]
  if (!isHeard(own)) return silence(judged)
  const { mode, operation } = own.word.status
  if (mode !== 'secondary') return stop(`${own.name} is no secondary, but ${mode}`)
  if (operation?.name === 'promotion') return promoteTo(to, true, true)
  if (operation) return stopBusy(own)
  return isHeard(other) && other.word.status.mode === 'primary' && verdict.situation !== 'closed'
    ? stop(`${other.name} answers, and serves as the primary: two primaries are worse than none`)
    : promoteTo(to, false, true)
}

interface Roles {
  primary: Side
  secondary: Side
}

/** What joining does next by the situation; it stops in any other one. */
const joining: Partial<Record<Situation, (roles: Roles, own: ClusterSeen, other: ClusterSeen) => Found>> = {
  'no-set': ({ primary }) => ({ do: 'enable', primary }),
  unjoined: (roles, own) => whole(own) ?? { do: 'admit', ...roles },
  unfollowed: (roles, own) => whole(own) ?? { do: 'follow', ...roles },
  closed: (_, own) => wait('journal', `${own.name} builds its journal`),
  becoming: (_, __, other) => wait('activation', `${other.name} becomes a secondary`),
  superseded: () => wait('closing', 'the earlier primary hears of the later one, and closes'),
  'cut-off': readmission,
  revoked: readmission,
  adopting: (_, own, other) => wait('catching-up', `${other.name} follows ${own.name}`),
  'catching-up': (_, own, other) => wait('catching-up', `${other.name} follows ${own.name}`),
  following: () => ({ do: 'done' }),
  promoting: brokenOff,
  'handed-over': brokenOff,
  elsewhere: brokenOff,
  'no-primary': brokenOff,
}

function whole({ name, word }: ClusterSeen): Found | undefined {
  return word?.status.isBuilding ? wait('journal', `${name} builds its journal`) : undefined
}

function readmission(roles: Roles, own: ClusterSeen, other: ClusterSeen): Found {
  return wait('contact', `${other.name} hears of ${own.name}`, { do: 'readmit', ...roles })
}

function brokenOff(): Found {
  return wait(
    'operation',
    'a change of roles that was broken off has ended',
    stop('no cluster of the pair is the primary'),
  )
}

/** Whoever is the primary, or is to be, stays it; the other one follows. */
function stepOfJoin(judged: Judged): Found {
  const { pair, goal, verdict } = judged
  if (isSilent(judged)) return silence(judged)
  const now = verdict.primary && (verdict.primary === pair.from ? 'from' : 'to')
  const primary = goal.primary ?? now ?? 'from'
  const secondary = otherSide(primary)
  if (now !== undefined && now !== primary)
    return stop(`${pair[now].name} is the primary, and would have to be in no set`)
  const step = joining[verdict.situation]
  return step
    ? step({ primary, secondary }, pair[primary], pair[secondary])
    : stop('disable DR on the one that should follow')
}
