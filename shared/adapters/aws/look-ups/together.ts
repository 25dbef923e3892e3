import { AsyncLocalStorage } from 'node:async_hooks'
import { callAfterDelay } from '../later.ts'
import { emptyLookUpLane, type LookUpCall, type LookUpLane, takeDueLookUpCalls } from './lane.ts'
import { paceAfterAnswer, paceAfterThrottling } from './pace.ts'

/** The functions and limits of the look-ups of one target. */
export interface LookUpTarget<Found> {
  /** `send` looks up different names, and leaves out unknown names; the first caller pays for the call */
  send(names: readonly string[], deadline: number): Promise<ReadonlyMap<string, Found>>
  /** `count` counts a call for one more caller that shares it */
  count(): void
  /** `attempts`: how often a look-up with a call of its own may be throttled */
  attempts: number
  /** whether a call failed because of throttling */
  isRefusal(error: unknown): boolean
  /** the error for a caller whose deadline has passed */
  late(): Error
  /** `leftMs`: milliseconds until a deadline */
  leftMs(deadline: number): number
}

/** Look-ups of one kind that share calls. */
export interface SharedLookUps<Found> {
  /** `find` returns undefined when AWS has no object of this name */
  find(name: string, deadline: number): Promise<Found | undefined>
  /** `isIdle`: no look-up waits, and no pace is remembered */
  isIdle(): boolean
}

/** The time source of shared look-ups: milliseconds of a clock that never goes back. */
export interface TimeSource {
  now(): number
  /** from 0 to 1 */
  chance(): number
  /**
   * `after` calls `work` after some milliseconds.
   * @returns a function that cancels the timer
   */
  after(ms: number, work: () => void): () => void
}

const realTime: TimeSource = {
  now: () => performance.now(),
  chance: Math.random,
  after: callAfterDelay,
}

/** Milliseconds after which a running call no longer delays the next one. */
const SLOW_LOOK_UP_MS = 500

/** A caller's look-up that waits. */
interface Question<Found> {
  name: string
  deadline: number
  /** `within` runs a function in the async context of the caller */
  within: <R>(work: () => R) => R
  /** `refusals`: how often AWS throttled the look-up in a call of its own */
  refusals: number
  refusal?: unknown
  waits: boolean
  /** `end` cancels the timer of the look-up's deadline */
  end(): void
  answer(found: Found | undefined): void
  fail(error: unknown): void
}

type LaneOf<Found> = LookUpLane<Question<Found>>
type CallOf<Found> = LookUpCall<Question<Found>>

function createQuestion<Found>(
  name: string,
  deadline: number,
  resolve: (found: Found | undefined) => void,
  reject: (error: unknown) => void,
): Question<Found> {
  const question: Question<Found> = {
    name,
    deadline,
    within: AsyncLocalStorage.snapshot(),
    refusals: 0,
    waits: true,
    end: () => undefined,
    answer: found => settle(() => resolve(found)),
    fail: error => settle(() => reject(error)),
  }
  function settle(tell: () => void): void {
    question.waits = false
    question.end()
    tell()
  }
  return question
}

function dropServed<Found>(lane: LaneOf<Found>): LaneOf<Found> {
  const waits = (question: Question<Found>): boolean => question.waits
  return { ...lane, together: lane.together.filter(waits), alone: lane.alone.filter(waits) }
}

/** Sends a call in the context of its first caller, with the latest deadline of all its callers. */
async function sendCall<Found>(
  how: LookUpTarget<Found>,
  { questions }: CallOf<Found>,
): Promise<ReadonlyMap<string, Found>> {
  const [first, ...others] = questions
  for (const { within } of others) within(how.count)
  const names = [...new Set(questions.map(({ name }) => name))]
  const deadline = Math.max(...questions.map(one => one.deadline))
  const send = () => how.send(names, deadline)
  return first ? first.within(send) : send()
}

/**
 * Answers the look-ups whose names were found, and the look-ups that had the call to themselves. The other look-ups
 * get calls of their own.
 */
function answerFound<Found>(
  lane: LaneOf<Found>,
  { questions }: CallOf<Found>,
  found: ReadonlyMap<string, Found>,
): LaneOf<Found> {
  const isMissing = ({ name }: Question<Found>) => questions.length > 1 && !found.has(name)
  for (const one of questions) if (!isMissing(one)) one.answer(found.get(one.name))
  const missing = questions.filter(isMissing)
  return { ...lane, pace: paceAfterAnswer(lane.pace), alone: [...lane.alone, ...missing] }
}

/**
 * Queues the look-ups of a failed call again.
 * @param attempts how often a look-up with a call of its own may be throttled; 0: the call was not throttled
 */
function requeueFailed<Found>(
  lane: LaneOf<Found>,
  { questions, alone }: CallOf<Found>,
  error: unknown,
  attempts: number,
): LaneOf<Found> {
  for (const one of questions) {
    if (attempts > 0) one.refusal = error
    if (questions.length > 1) continue
    one.refusals += 1
    if (one.refusals >= attempts) one.fail(error)
  }
  const list = attempts > 0 && !alone ? 'together' : 'alone'
  return { ...lane, [list]: [...questions, ...lane[list]] }
}

/**
 * Shares calls between look-ups that wait at the same time. Every look-up begins before its call is sent, and
 * nothing is cached. No caller fails because of another caller: a name that is missing in a shared answer, and
 * every name of a failed shared call, gets a call of its own. The look-ups of a throttled call are sent again while
 * their callers have time.
 */
export function createSharedLookUps<Found>(
  how: LookUpTarget<Found>,
  time: TimeSource = realTime,
): SharedLookUps<Found> {
  let lane: LaneOf<Found> = emptyLookUpLane
  let sleep = (): void => undefined

  function go(): void {
    sleep()
    const now = time.now()
    const { calls, lane: left, again } = takeDueLookUpCalls(dropServed(lane), now, time.chance())
    lane = left
    sleep = again === undefined ? () => undefined : time.after(again - now, go)
    for (const call of calls) void run(call)
  }

  async function run(call: CallOf<Found>): Promise<void> {
    let counts = !call.alone
    const makeRoom = (): void => {
      if (counts) lane = { ...lane, underWay: lane.underWay - 1 }
      counts = false
    }
    const inTime = time.after(SLOW_LOOK_UP_MS, () => {
      makeRoom()
      go()
    })
    await sendCall(how, call).then(
      found => {
        lane = answerFound(lane, call, found)
      },
      (error: unknown) => {
        const refused = how.isRefusal(error)
        if (refused) lane = { ...lane, pace: paceAfterThrottling(lane.pace, time.now(), time.chance()) }
        lane = requeueFailed(lane, call, error, refused ? how.attempts : 0)
      },
    )
    inTime()
    makeRoom()
    go()
  }

  return {
    find: (name, deadline) =>
      new Promise((resolve, reject) => {
        const question = createQuestion<Found>(name, deadline, resolve, reject)
        const late = () => question.fail(question.refusal ?? how.late())
        question.end = time.after(Math.max(1, how.leftMs(deadline)), late)
        lane = { ...lane, together: [...lane.together, question] }
        go()
      }),
    isIdle: () => lane.together.length + lane.alone.length + lane.underWay + lane.pace.gapMs === 0,
  }
}
