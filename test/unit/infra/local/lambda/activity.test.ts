import { describe, expect, test } from 'vitest'
import {
  createActivity,
  type Mark,
  type TrackedActivity,
} from '../../../../../infra/local/lambda/activity.ts'

const LONG_MS = 60_000
const never = new AbortController().signal
const turn = () => new Promise(resolve => setImmediate(resolve))

/** Whether somebody rests who looks at this mark. */
async function rests(activity: TrackedActivity, since: Mark, signal = never): Promise<() => boolean> {
  let resting = true
  void activity.rest(since, LONG_MS, signal).then(() => {
    resting = false
  })
  await turn()
  return () => resting
}

describe('who looks for what work leaves behind', () => {
  test('rests where there was none, until some begins', async () => {
    const activity = createActivity()
    const resting = await rests(activity, activity.mark())
    expect(resting()).toBe(true)
    void activity.during(Promise.resolve())
    await turn()
    expect(resting()).toBe(false)
  })

  test('does not where some was under way, or has begun since, or has begun and ended', async () => {
    const activity = createActivity()
    const before = activity.mark()
    await activity.during(Promise.resolve())
    expect((await rests(activity, before))()).toBe(false)
    const failing = activity.during(Promise.reject(new Error('failed'))).catch(() => undefined)
    const meanwhile = activity.mark()
    await failing
    expect((await rests(activity, meanwhile))()).toBe(false)
    expect((await rests(activity, activity.mark()))()).toBe(true)
  })

  test('does not longer than it wants, or is there for', async () => {
    const activity = createActivity()
    await activity.rest(activity.mark(), 1, never)
    const end = new AbortController()
    const resting = await rests(activity, activity.mark(), end.signal)
    end.abort()
    await turn()
    expect(resting()).toBe(false)
  })
})
