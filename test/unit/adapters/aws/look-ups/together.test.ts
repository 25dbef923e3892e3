import { AsyncLocalStorage } from 'node:async_hooks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createSharedLookUps,
  type LookUpTarget,
} from '../../../../../shared/adapters/aws/look-ups/together.ts'
import { virtualTime } from './virtual-time.ts'

type Answer = 'all' | 'none' | 'refuse' | 'fail'
const refusal = new Error('too many')
const failure = new Error('broken')
const late = new Error('late')

/**
 * Makes an API that knows every name without an x, and gives prepared answers. With the answer `none` the API
 * finds no name of a call.
 */
function world(answers: Answer[] = [], { tookMs = 10, attempts = 3, chance = 0.5 } = {}) {
  const time = virtualTime(chance)
  const asker = new AsyncLocalStorage<string>()
  const [calls, counted]: [string[], (string | undefined)[]] = [[], []]
  const failedAlone = new Set<string>()
  const count = () => void counted.push(asker.getStore())
  const how: LookUpTarget<string> = {
    send: async names => {
      calls.push(`${time.now()}: ${names.join()}`)
      count()
      const answer = answers.shift() ?? 'all'
      await time.sleep(tookMs)
      if (answer === 'refuse') throw refusal
      if (answer === 'fail' && names.length === 1) failedAlone.add(`${names}`)
      if (answer === 'fail') throw failure
      const known = answer === 'none' && names.length > 1 ? [] : names.filter(name => !name.includes('x'))
      return new Map(known.map(name => [name, `${name} at ${time.now() - tookMs}`]))
    },
    count,
    attempts,
    isRefusal: error => error === refusal,
    late: () => late,
    leftMs: deadline => deadline - time.now(),
  }
  const lookUps = createSharedLookUps(how, time.passing)
  const results: Record<string, unknown> = {}
  const ask = (name: string, deadline = 10_000, as = name): void => {
    const note = (result: unknown): void => {
      results[as] = result
    }
    void asker.run(as, () => lookUps.find(name, deadline)).then(note, note)
  }
  return { ...time, calls, counted, failedAlone, results, ask, lookUps }
}

describe('concurrent look-ups of names in AWS', () => {
  test('the first look-up is sent at once, and the look-ups that arrive meanwhile share the next call', async () => {
    const { ask, advance, calls, results } = world()
    for (const name of ['a', 'b', 'c']) ask(name)
    expect(calls).toEqual(['0: a'])
    await advance(5)
    ask('d')
    await advance(100)
    expect(calls).toEqual(['0: a', '10: b,c,d'])
    expect(results).toEqual({ a: 'a at 0', b: 'b at 10', c: 'c at 10', d: 'd at 10' })
  })

  test('look-ups are not cached, and concurrent look-ups of one name share one AWS call', async () => {
    const { ask, advance, calls, results } = world()
    ask('a')
    ask('b', 10_000, 'first')
    ask('b', 10_000, 'second')
    await advance(100)
    ask('a', 10_000, 'later')
    await advance(100)
    expect(calls).toEqual(['0: a', '10: b', '100: a'])
    expect(results).toEqual({ a: 'a at 0', first: 'b at 10', second: 'b at 10', later: 'a at 100' })
  })

  test('a name missing in a shared response is looked up alone, and is unknown if it is still missing', async () => {
    const { ask, advance, calls, results } = world(['all', 'none'])
    for (const name of ['ax', 'b', 'cx']) ask(name)
    await advance(100)
    expect(calls).toEqual(['0: ax', '10: b,cx', '20: b', '20: cx'])
    expect(results).toEqual({ ax: undefined, b: 'b at 20', cx: undefined })
  })

  test('names of a failed shared call are looked up alone and fail alone', async () => {
    const { ask, advance, calls, results } = world(['all', 'fail', 'all', 'fail'])
    for (const name of ['a', 'b', 'c']) ask(name)
    await advance(100)
    expect(calls).toEqual(['0: a', '10: b,c', '20: b', '20: c'])
    expect(results).toEqual({ a: 'a at 0', b: 'b at 20', c: failure })
  })

  test('a throttled call is repeated together with later names, with doubling pauses', async () => {
    const { ask, advance, calls, results } = world(['all', 'refuse', 'refuse', 'refuse', 'refuse'])
    for (const name of ['a', 'b', 'c']) ask(name)
    await advance(15)
    ask('d')
    await advance(3000)
    expect(calls).toEqual(['0: a', '10: b,c', '120: b,c,d', '330: b,c,d', '740: b,c,d', '1550: b,c,d'])
    expect(results).toMatchObject({ b: 'b at 1550', c: 'c at 1550', d: 'd at 1550' })
  })

  test('each look-up waits until its own deadline, and fails with the last throttling error', async () => {
    const { ask, advance, results, calls } = world(['all', 'refuse', 'refuse', 'refuse'])
    ask('a')
    ask('b', 200)
    ask('c', 5000)
    await advance(199)
    expect(results).toEqual({ a: 'a at 0' })
    await advance(1)
    expect(results).toEqual({ a: 'a at 0', b: refusal })
    await advance(4000)
    expect(calls.at(-1)).toBe('740: c')
    expect(results).toMatchObject({ c: 'c at 740' })
  })

  test('a look-up that reaches its deadline without throttling fails with a timeout', async () => {
    const { ask, advance, results } = world([], { tookMs: 5000 })
    ask('a', 300)
    await advance(300)
    expect(results).toEqual({ a: late })
  })

  test('a look-up that shares no call is repeated after throttling only up to the allowed number of attempts', async () => {
    const { ask, advance, results, calls } = world(['refuse', 'refuse', 'refuse', 'refuse'], { attempts: 2 })
    ask('a')
    await advance(1000)
    expect([calls.length, results]).toEqual([2, { a: refusal }])
  })

  test('a look-up that shares no call fails at once when AWS returns an error', async () => {
    const { ask, advance, results, calls } = world(['fail'])
    ask('a')
    await advance(1000)
    expect([calls.length, results]).toEqual([1, { a: failure }])
  })

  test('a slow call delays the next look-up by at most half a second', async () => {
    const { ask, advance, calls } = world([], { tookMs: 5000 })
    ask('a')
    ask('b')
    await advance(499)
    expect(calls).toEqual(['0: a'])
    await advance(1)
    expect(calls).toEqual(['0: a', '500: b'])
  })

  test('a shared call is counted once for each caller that shares the call', async () => {
    const { ask, advance, counted } = world()
    for (const name of ['a', 'b', 'c']) ask(name)
    await advance(100)
    expect(counted.toSorted()).toEqual(['a', 'b', 'c'])
  })

  test('without waiting callers no timer runs, and only a known rate limit is kept', async () => {
    const { ask, advance, lookUps, pending } = world(['all', 'refuse'])
    ask('a')
    await advance(100)
    expect([lookUps.isIdle(), pending()]).toEqual([true, 0])
    ask('b')
    await advance(1000)
    expect([lookUps.isIdle(), pending()]).toEqual([false, 0])
  })
})

test('each look-up gets the result of a call that began after the look-up was requested', async () => {
  const asks = fc.array(
    fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd', 'ex', 'fx'),
      pause: fc.nat({ max: 40 }),
      deadline: fc.constantFrom(1500, 60_000),
    }),
    { minLength: 1, maxLength: 30 },
  )
  const answers = fc.array(fc.constantFrom<Answer>('all', 'all', 'none', 'refuse', 'fail'), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(asks, answers, fc.double({ min: 0, max: 1, noNaN: true }), async (all, told, chance) => {
      const { ask, advance, now, results, failedAlone } = world([...told], { chance, attempts: 30 })
      const asked = new Map<string, { name: string; at: number }>()
      for (const [index, { name, pause, deadline }] of all.entries()) {
        const as = `${name}${index}`
        asked.set(as, { name, at: now() })
        ask(name, now() + deadline, as)
        await advance(pause)
      }
      await advance(100_000)
      expect(Object.keys(results).toSorted()).toEqual([...asked.keys()].toSorted())
      for (const [as, { name, at }] of asked) {
        const result = results[as]
        if (result === failure) expect(failedAlone).toContain(name)
        else if (result === late || result === refusal) expect(told).toContain('refuse')
        else if (name.includes('x')) expect(result).toBeUndefined()
        else {
          const [found, moment] = String(result).split(' at ')
          expect([found, Number(moment) >= at]).toEqual([name, true])
        }
      }
    }),
    { numRuns: 200 },
  )
})
