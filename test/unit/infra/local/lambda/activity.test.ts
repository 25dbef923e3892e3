import { describe, expect, test } from 'vitest'
import {
  type ActivityMark,
  createWorkActivity,
  type TrackedWorkActivity,
} from '../../../../../infra/local/lambda/activity.ts'

const LONG_MS = 60_000
const never = new AbortController().signal
const turn = () => new Promise(resolve => setImmediate(resolve))

/**
 * Starts the rest of a poller from a mark, and returns a function that reports whether the poller still
 * rests.
 */
async function rests(
  activity: TrackedWorkActivity,
  since: ActivityMark,
  signal = never,
): Promise<() => boolean> {
  let resting = true
  void activity.rest(since, LONG_MS, signal).then(() => {
    resting = false
  })
  await turn()
  return () => resting
}

describe('a poller of the embedded host', () => {
  test('the poller rests after a period without work until work begins', async () => {
    const activity = createWorkActivity()
    const resting = await rests(activity, activity.mark())
    expect(resting()).toBe(true)
    void activity.during(Promise.resolve())
    await turn()
    expect(resting()).toBe(false)
  })

  test('the poller does not rest if work was running, began, or began and ended since the mark', async () => {
    const activity = createWorkActivity()
    const before = activity.mark()
    await activity.during(Promise.resolve())
    expect((await rests(activity, before))()).toBe(false)
    const failing = activity.during(Promise.reject(new Error('failed'))).catch(() => undefined)
    const meanwhile = activity.mark()
    await failing
    expect((await rests(activity, meanwhile))()).toBe(false)
    expect((await rests(activity, activity.mark()))()).toBe(true)
  })

  test('the poller rests at most as long as requested, and stops resting when it is aborted', async () => {
    const activity = createWorkActivity()
    await activity.rest(activity.mark(), 1, never)
    const end = new AbortController()
    const resting = await rests(activity, activity.mark(), end.signal)
    end.abort()
    await turn()
    expect(resting()).toBe(false)
  })
})
