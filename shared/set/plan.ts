import { judgePair, type PairSituation, type PairVerdict } from './pair.ts'
import { hasAnswered, type ObservedCluster } from './status.ts'

/** Role in a switch: `from` hands over or is lost, and `to` takes over. */
export type PairSide = 'from' | 'to'
const otherSide = (side: PairSide): PairSide => (side === 'from' ? 'to' : 'from')
export type ObservedPair = Readonly<Record<PairSide, ObservedCluster>>

/** Actions that a goal may allow. The texts of the actions tell an operator which tasks remain. */
const actions = {
  enable: 'enabling a primary',
  admit: 'deleting the data of a cluster so that it becomes a secondary',
  promote: 'promoting a secondary',
  force: 'promoting a secondary by force',
  follow: 'making a former primary follow another',
  /** `readmit`: for a revoked secondary, or a secondary without contact */
  readmit: 'admitting that secondary again',
}
export type SetAction = keyof typeof actions

const MINUTE_MS = 60_000
/** How long programs wait for deployed clusters, by the reason for waiting. */
export const WAIT_LIMITS_MS = {
  silence: 30_000,
  obstacle: 30_000,
  operation: 10 * MINUTE_MS,
  closing: 10 * MINUTE_MS,
  journal: 60 * MINUTE_MS,
  activation: 60 * MINUTE_MS,
  contact: 15 * MINUTE_MS,
  'catching-up': 15 * MINUTE_MS,
}
type Wait = keyof typeof WAIT_LIMITS_MS

/** The state that two clusters should reach, and the allowed actions. @see docs/adr/0017-one-judgement-of-a-set.md */
export interface SetGoal {
  kind: 'follow' | 'switch' | 'switchBack' | 'join' | 'takeOver'
  allowedActions: readonly SetAction[]
  /** `primary`: for `join` and `follow`, the future primary; absent: the present primary, else `from` */
  primary?: PairSide
  /** longest wait in milliseconds, by reason */
  waits: Readonly<Record<Wait, number>>
}

/** Stages of a role change: `to` serves, the other cluster follows it, the other cluster has caught up. */
export const roleChangeStages = ['promote', 'follow', 'settle'] as const
export type RoleChangeStage = (typeof roleChangeStages)[number]

interface Stop {
  readonly do: 'stop'
  readonly exit: 'refused' | 'unreachable' | 'unwell'
  readonly why: string
}
interface Promote {
  readonly do: 'promote'
  readonly to: PairSide
  readonly force: boolean
  /** `resumed`: true if the step joins a promotion that is already running */
  readonly resumed: boolean
}
interface Roles {
  readonly primary: PairSide
  readonly secondary: PairSide
}
type Join = { readonly do: 'enable' | 'admit' | 'follow' | 'readmit' } & Roles
/** Steps that change the state of a cluster. */
type Acting = Join | Promote
type Decision = Acting | Stop | { readonly do: 'done' }
interface Waiting {
  readonly do: 'wait'
  readonly for: Wait
  readonly what: string
  readonly otherwise: Decision
}

/** The next step of a program. `where` describes the state of the pair in a sentence. */
export type SetStep = { readonly where: string; readonly stage: RoleChangeStage } & (Decision | Waiting)
export type ActingSetStep = Extract<SetStep, { do: Acting['do'] }>

interface Judged {
  pair: ObservedPair
  goal: SetGoal
  verdict: PairVerdict
  /** `to`: the cluster that should serve */
  to: PairSide
  own: ObservedCluster
  other: ObservedCluster
}

const stop = (why: string, exit: Stop['exit'] = 'refused'): Stop => ({ do: 'stop', exit, why })
const wait = (
  reason: Wait,
  what: string,
  otherwise: Decision = stop(`the time limit passed before ${what}`, 'unwell'),
): Waiting => ({ do: 'wait', for: reason, what, otherwise })

/** Decides only by both clusters' present answers, so an interrupted program resumes from the pair's state. */
export function decideNextStep(pair: ObservedPair, goal: SetGoal): SetStep {
  const verdict = judgePair(pair.from, pair.to)
  const isJoin = goal.kind === 'join' || goal.kind === 'follow'
  const now = verdict.primary && (verdict.primary === pair.from ? 'from' : 'to')
  const to = isJoin ? (goal.primary ?? now ?? 'from') : goal.kind === 'switchBack' ? 'from' : 'to'
  const judged: Judged = { pair, goal, verdict, to, own: pair[to], other: pair[otherSide(to)] }
  const serves = now === undefined ? isLaterPrimary(judged) : now === to
  const found = isJoin ? planJoin(judged, now) : serves ? planFollowing(judged) : planTakingOver(judged)
  const isSettling = found.do === 'done' || (found.do === 'wait' && found.for === 'catching-up')
  const stage = !serves && !isJoin ? 'promote' : isSettling ? 'settle' : 'follow'
  const step =
    found.do === 'wait'
      ? { ...found, otherwise: requireAllowed(found.otherwise, goal.allowedActions) }
      : requireAllowed(found, goal.allowedActions)
  return { where: verdict.sentence, stage, ...step }
}

/**
 * Reports whether `to` was promoted later than the other cluster, which still reports that it is the primary, or
 * serves while the other cluster is silent.
 */
function isLaterPrimary({ own, other, verdict: { situation } }: Judged): boolean {
  if (situation === 'peer-silent') return hasAnswered(own)
  const promotionsOf = ({ answer }: ObservedCluster) => answer?.status.promotions ?? 0
  return situation === 'superseded' && promotionsOf(own) > promotionsOf(other)
}

/** Replaces an action that the goal does not allow by a stop. */
function requireAllowed(found: Decision, may: SetGoal['allowedActions']): Decision {
  const action = found.do === 'promote' && found.force ? 'force' : found.do
  if (action === 'done' || action === 'stop' || may.includes(action)) return found
  return stop(`${actions[action]} is for an operator to do`)
}

const silent: readonly PairSituation[] = ['unheard', 'peer-silent', 'primary-silent', 'single']
const isSilent = ({ verdict }: Judged): boolean => silent.includes(verdict.situation)

/** Waits for a cluster that does not answer. A program that has not changed anything yet does not wait. */
function waitForAnswer({ pair }: Judged, hint = '', reason: Wait = 'silence'): Waiting {
  const away = [pair.to, pair.from].find(one => !hasAnswered(one)) ?? pair.to
  const why = `${away.name}: ${away.silent?.why ?? 'the cluster did not answer'}${hint}`
  return wait(reason, `${away.name} answers`, stop(why, 'unreachable'))
}

const operationOf = (one: ObservedCluster) => one.answer?.status.operation
const stateOf = (one: ObservedCluster): string => one.answer?.status.state || String(one.answer?.status.mode)

/** The next decision when the cluster `own` serves or should serve, by situation. */
type Table = Partial<Record<PairSituation, (judged: Judged) => Decision | Waiting>>
const rolesOf = ({ to }: Judged): Roles => ({ primary: to, secondary: otherSide(to) })
const catchUp = ({ own, other }: Judged) => wait('catching-up', `${other.name} follows ${own.name}`)
const following: Table = {
  superseded: ({ own, other }) => wait('closing', `${other.name} reaches ${own.name} and closes`),
  closed: ({ own }) => wait('journal', `${own.name} serves`),
  unfollowed: judged => ({ do: 'follow', ...rolesOf(judged) }),
  becoming: catchUp,
  adopting: catchUp,
  'catching-up': catchUp,
  'cut-off': catchUp,
  following: () => ({ do: 'done' }),
}

/** Plans the remaining steps once `to` serves: the other cluster must follow it. */
function planFollowing(judged: Judged): Decision | Waiting {
  const { goal, verdict, other } = judged
  if (isSilent(judged)) return waitForAnswer(judged, '', goal.kind === 'takeOver' ? 'closing' : 'silence')
  return following[verdict.situation]?.(judged) ?? stop(`${other.name} is ${stateOf(other)}`)
}

/** Plans a takeover in which `to` takes over from a serving or a lost cluster. */
function planTakingOver(judged: Judged): Decision | Waiting {
  const { goal, verdict, to, own, other } = judged
  const { situation, primary } = verdict
  const force = goal.kind === 'takeOver'
  if (force ? !hasAnswered(own) : isSilent(judged))
    return waitForAnswer(judged, force ? '' : '; where a cluster is lost, see docs/runbooks/disaster.md')
  if (operationOf(own)?.name === 'promotion') return { do: 'promote', to, resumed: true, force }
  const busy = [own, ...(force ? [] : [other])].find(operationOf)
  if (busy) return stop(`${busy.name}: ${operationOf(busy)?.name} is under way; wait for its end`)
  const mode = own.answer?.status.mode
  if (!force && situation === 'handed-over' && own.answer?.status.hasPrimary)
    return { do: 'promote', to, resumed: true, force: false }
  if (!force && primary === undefined) return stop('no planned switch is possible')
  if (mode !== 'secondary') return stop(`${own.name} is no secondary, but ${mode}`)
  if (force)
    return hasAnswered(other) && other.answer.status.mode === 'primary' && situation !== 'closed'
      ? stop(`${other.name} answers, and serves as the primary: two primaries are worse than none`)
      : { do: 'promote', to, resumed: false, force: true }
  const isFollowing = stateOf(own) === 'stream-wals' && situation !== 'revoked' && situation !== 'cut-off'
  return isFollowing
    ? { do: 'promote', to, resumed: false, force: false }
    : stop(`${own.name} does not stream from its primary: its state is ${stateOf(own)}`)
}

const ifBuilt =
  (action: 'admit' | 'follow') =>
  (judged: Judged): Decision | Waiting =>
    judged.own.answer?.status.isBuilding
      ? wait('journal', `${judged.own.name} builds its journal`)
      : { do: action, ...rolesOf(judged) }
const readmission = (judged: Judged) =>
  wait('contact', `${judged.other.name} reaches ${judged.own.name}`, { do: 'readmit', ...rolesOf(judged) })
const brokenOff = () =>
  wait('operation', 'the interrupted role change has ended', stop('no cluster of the pair is the primary'))

/** Decisions of a join by situation. All other situations stop a join. */
const joining: Table = {
  ...following,
  'no-set': judged => ({ do: 'enable', ...rolesOf(judged) }),
  unjoined: ifBuilt('admit'),
  unfollowed: ifBuilt('follow'),
  closed: ({ own }) => wait('journal', `${own.name} builds its journal`),
  becoming: ({ other }) => wait('activation', `${other.name} becomes a secondary`),
  superseded: () => wait('closing', 'the earlier primary reaches the later primary and ends its journal'),
  'cut-off': readmission,
  revoked: readmission,
  promoting: brokenOff,
  'handed-over': brokenOff,
  elsewhere: brokenOff,
  'no-primary': brokenOff,
}

/** Plans a join: the present or chosen primary keeps its role, and the other cluster follows it. */
function planJoin(judged: Judged, now: PairSide | undefined): Decision | Waiting {
  const { pair, verdict, to } = judged
  if (isSilent(judged)) return waitForAnswer(judged)
  if (now !== undefined && now !== to)
    return stop(`${pair[now].name} is the primary, and would have to be in no set`)
  return joining[verdict.situation]?.(judged) ?? stop('disable DR on the cluster that should follow')
}
