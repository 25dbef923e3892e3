import { AsyncLocalStorage } from 'node:async_hooks'
import { callLater } from '../later.ts'
import { emptyLane, type Lane, type LookUpCall, takeDueCalls } from './lane.ts'
import { afterAnswer, afterRefusal } from './pace.ts'

/** How look-ups with one access in one region are made. */
export interface LookUps<Found> {
  /** looks up all of these names, which are different, and leaves out what is not there; counts for one who asked */
  send(names: readonly string[], deadline: number): Promise<ReadonlyMap<string, Found>>
  /** counts a call for one more who asked */
  count(): void
  /** how often the question of one who asks for himself may be refused */
  attempts: number
  /** whether a call failed because there are too many of them */
  isRefusal(error: unknown): boolean
  /** what is told to who is out of time */
  late(): Error
  /** milliseconds until a deadline */
  leftMs(deadline: number): number
}

/** Look-ups that share calls. */
export interface SharedLookUps<Found> {
  /** undefined when there is none of this name */
  find(name: string, deadline: number): Promise<Found | undefined>
  /** nobody waits, and nothing is remembered */
  isIdle(): boolean
}

/** Time as it passes here: milliseconds of a clock that never goes back. */
export interface TimeSource {
  now(): number
  /** from 0 to 1 */
  chance(): number
  /** @returns ends the waiting */
  after(ms: number, work: () => void): () => void
}

const realTime: TimeSource = {
  now: () => performance.now(),
  chance: Math.random,
  after: callLater,
}

/** A call that takes as long as this keeps nobody waiting any more. */
const SLOW_LOOK_UP_MS = 500

/** Somebody who waits. */
interface Question<Found> {
  name: string
  deadline: number
  /** runs something in the name of who asks */
  within: <R>(work: () => R) => R
  /** how often it was refused when it was sent by itself */
  refusals: number
  refusal?: unknown
  waits: boolean
  /** ends the waiting for its deadline */
  end(): void
  answer(found: Found | undefined): void
  fail(error: unknown): void
}

type LaneOf<Found> = Lane<Question<Found>>
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

/** Sends a call in the name of the first who asked, for all the time that any of them has. */
async function sendCall<Found>(
  how: LookUps<Found>,
  { questions }: CallOf<Found>,
): Promise<ReadonlyMap<string, Found>> {
  const [first, ...others] = questions
  for (const { within } of others) within(how.count)
  const names = [...new Set(questions.map(({ name }) => name))]
  const deadline = Math.max(...questions.map(one => one.deadline))
  const send = () => how.send(names, deadline)
  return first ? first.within(send) : send()
}

/** Answers all that were found, or asked for themselves; the others are asked for alone. */
function answerFound<Found>(
  lane: LaneOf<Found>,
  { questions }: CallOf<Found>,
  found: ReadonlyMap<string, Found>,
): LaneOf<Found> {
  const isMissing = ({ name }: Question<Found>) => questions.length > 1 && !found.has(name)
  for (const one of questions) if (!isMissing(one)) one.answer(found.get(one.name))
  const missing = questions.filter(isMissing)
  return { ...lane, pace: afterAnswer(lane.pace), alone: [...lane.alone, ...missing] }
}

/**
 * What is to be asked again after a call that failed.
 * @param attempts how often one may be refused that asks for itself; 0: it was no refusal
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
 * Look-ups that wait at the same time share a call. All is asked before its call is sent, and nothing that was found
 * is kept. Nobody fails for a stranger: who is missing in a shared answer is asked for alone, and so are all of a
 * shared call that failed; one that was refused is sent again for those who still have time.
 */
export function createSharedLookUps<Found>(
  how: LookUps<Found>,
  time: TimeSource = realTime,
): SharedLookUps<Found> {
  let lane: LaneOf<Found> = emptyLane
  let sleep = (): void => undefined

  function go(): void {
    sleep()
    const now = time.now()
    const { calls, lane: left, again } = takeDueCalls(dropServed(lane), now, time.chance())
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
        if (refused) lane = { ...lane, pace: afterRefusal(lane.pace, time.now(), time.chance()) }
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
