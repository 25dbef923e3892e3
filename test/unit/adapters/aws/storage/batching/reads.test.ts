import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createReadBatcher } from '../../../../../../shared/adapters/aws/storage/batching/reads.ts'
import { tableKeyText } from '../../../../../../shared/adapters/aws/storage/engine.ts'
import { createCallMeter } from '../../../../../../shared/adapters/aws/system.ts'
import type { Kind } from '../../../../../../shared/storage/kinds.ts'
import type { TableKey } from '../../../../../../shared/storage/queries.ts'

// Simulated time passes only when no task can run, so the order of events follows from the test's script.

/** The delays of a call: until the engine reads, and until the answer arrives. */
interface Fate {
  reads: number
  answers: number
  /** the number of its keys that the engine leaves unprocessed */
  leaves?: number
  fails?: boolean
}

interface Sent {
  at: number
  ended?: number
  keys: readonly TableKey[]
  alone: boolean
}

const place = (sk: string): TableKey => ({ table: 't', pk: 'p', sk })
const kindOf = (sk: string): Kind =>
  sk.startsWith('policy') ? 'policy' : sk.startsWith('mounts') ? 'mounts' : 'role'

function world(fates: readonly Fate[]) {
  let now = 0
  let order = 0
  let events: { at: number; order: number; work: () => void }[] = []
  const later = (ms: number, work: () => void) => {
    const event = { at: now + Math.max(0, ms), order: order++, work }
    events.push(event)
    return () => {
      events = events.filter(one => one !== event)
    }
  }
  const wait = (ms: number) => new Promise<void>(resolve => void later(ms, resolve))
  const versions = new Map<string, { since: number; version: number | undefined }[]>()
  const sent: Sent[] = []
  const current = (sk: string) => versions.get(sk)?.at(-1)?.version

  async function call(keys: readonly TableKey[], alone: boolean) {
    const {
      reads,
      answers,
      leaves = 0,
      fails,
    } = fates[sent.length % fates.length] ?? { reads: 1, answers: 1 }
    const mine: Sent = { at: now, keys, alone }
    sent.push(mine)
    await wait(reads)
    const asked = keys.slice(alone ? 0 : leaves)
    const found = asked.flatMap(key => {
      const version = current(key.sk)
      return version === undefined
        ? []
        : [[tableKeyText(key), { ...key, data: { version } }] as [string, object]]
    })
    await wait(answers)
    mine.ended = now
    if (fails) throw new Error('the engine is not there')
    return { found: found as [string, Record<string, unknown>][], left: keys.slice(0, alone ? 0 : leaves) }
  }

  const meter = createCallMeter()
  const read = createReadBatcher(
    {
      meter,
      clock: { now: () => now, sleep: wait },
      pause: () => wait(3),
      getOnce: async keys => call(keys, false),
      get: async keys => {
        meter.count('dynamodb')
        return new Map((await call(keys, true)).found)
      },
    },
    { soon: work => void later(0, work), later },
  )
  return {
    sent,
    later,
    wait,
    current,
    now: () => now,
    /** sets the clock; timers still fire after the same time */
    setClock: (ms: number) => {
      for (const event of events) event.at += ms - now
      now = ms
    },
    read: (names: readonly string[]) => read(names.map(place), names.map(kindOf)),
    measured: (names: readonly string[]) => meter.measure(() => read(names.map(place), names.map(kindOf))),
    write: (sk: string, version: number | undefined) => {
      const history = versions.get(sk) ?? [{ since: Number.NEGATIVE_INFINITY, version: undefined }]
      versions.set(sk, [...history, { since: now, version }])
    },
    /** returns the versions of an item between two times */
    between: (sk: string, from: number, to: number) => {
      const history = versions.get(sk) ?? [{ since: Number.NEGATIVE_INFINITY, version: undefined }]
      return history
        .filter(
          ({ since }, index) =>
            since <= to && (history[index + 1]?.since ?? Number.POSITIVE_INFINITY) >= from,
        )
        .map(({ version }) => version)
    },
    /** runs all pending tasks */
    run: async () => {
      for (;;) {
        await setImmediate()
        events.sort((a, b) => a.at - b.at || a.order - b.order)
        const next = events.shift()
        if (!next) return
        now = next.at
        next.work()
      }
    },
  }
}

const versionIn = (item: Record<string, unknown> | undefined) =>
  (item?.['data'] as { version: number } | undefined)?.version

const keysOf = ({ keys }: Sent): string[] => keys.map(({ sk }) => sk)

describe('shared reads in any order of reads, writes and answers', () => {
  const names = ['a', 'b', 'policy1', 'mounts', 'none']
  const fate = fc.record(
    {
      reads: fc.nat(260),
      answers: fc.oneof({ weight: 20, arbitrary: fc.nat(260) }, { weight: 1, arbitrary: fc.constant(9000) }),
      leaves: fc.nat(2),
      fails: fc.boolean(),
    },
    { requiredKeys: ['reads', 'answers'] },
  )
  const asked = fc.record({
    at: fc.nat(600),
    names: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }),
  })
  const written = fc.record({
    at: fc.nat(900),
    name: fc.constantFrom(...names.slice(0, -1)),
    gone: fc.boolean(),
  })

  test('each caller gets a result no older than its read, and no caller fails because of another caller’s fault', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fate, { minLength: 1, maxLength: 12 }),
        fc.array(asked, { minLength: 1, maxLength: 30, size: 'max' }),
        fc.array(written, { maxLength: 60, size: 'max' }),
        async (fates, questions, writes) => {
          const { sent, now, later, measured, write, between, run } = world(fates)
          let version = 0
          for (const { at, name, gone } of writes) later(at, () => write(name, gone ? undefined : ++version))
          const asking: Promise<void>[] = []
          const ask = async (at: number, wanted: string[]) => {
            const before = sent.length
            const answer = await measured(wanted).catch((error: Error) => error)
            if (answer instanceof Error) {
              // a call that reads only wanted keys has failed
              const own = sent.slice(before).filter(one => keysOf(one).every(name => wanted.includes(name)))
              expect(own.length, answer.message).toBeGreaterThan(0)
              return
            }
            for (const name of wanted)
              expect(between(name, at, now())).toContain(
                versionIn(answer.value.get(tableKeyText(place(name)))),
              )
            const given = [...answer.value.keys()]
            expect(wanted.map(place).map(tableKeyText)).toEqual(expect.arrayContaining(given))
            expect([1, 2, 3]).toContain(answer.calls['dynamodb'])
          }
          for (const { at, names: wanted } of questions) later(at, () => void asking.push(ask(at, wanted)))
          await run()
          expect(asking).toHaveLength(questions.length)
          await Promise.all(asking)
          const together = sent.filter(one => !one.alone)
          for (const one of together) {
            expect(new Set(keysOf(one)).size).toBe(one.keys.length)
            const underWay = together.filter(
              other => other.at <= one.at && (other.ended ?? now()) > one.at && one.at - other.at < 200,
            )
            expect(underWay.length).toBeLessThanOrEqual(2)
          }
        },
      ),
      { numRuns: 150 },
    ))
})

const slow: Fate = { reads: 50, answers: 50 }

/** Returns reads that are requested one after the other, a millisecond apart, with their end times. */
function asking({ later, measured, now }: ReturnType<typeof world>, all: readonly (readonly string[])[]) {
  const ended: { at: number; calls?: number | undefined; error?: string }[] = all.map(() => ({ at: -1 }))
  for (const [index, names] of all.entries())
    later(index, async () => {
      try {
        const { calls } = await measured(names)
        ended[index] = { at: now(), calls: calls['dynamodb'] }
      } catch (error) {
        ended[index] = { at: now(), error: (error as Error).message }
      }
    })
  return ended
}

const sentAs = ({ sent }: ReturnType<typeof world>) =>
  sent.map(one => `${one.at} ${one.alone ? 'alone ' : ''}${keysOf(one)}`)

describe('shared reads', () => {
  test('sequential reads do not wait', async () => {
    const all = world([slow])
    all.later(0, () => void all.read(['a']).then(() => all.read(['a', 'b'])))
    await all.run()
    expect(sentAs(all)).toEqual(['0 a', '100 a,b'])
  })

  test('reads of one turn are sent at once as one call', async () => {
    const all = world([slow])
    for (const names of [['a', 'b'], ['b', 'c'], ['c']]) void all.read(names)
    await all.run()
    expect(sentAs(all)).toEqual(['0 a,b,c'])
  })

  test('two calls run at a time, and later reads share the next call', async () => {
    const all = world([slow])
    const ended = asking(all, [['a'], ['a'], ['a', 'b'], ['b', 'c'], ['c', 'a']])
    await all.run()
    expect(sentAs(all)).toEqual(['0 a', '1 a', '100 a,b,c'])
    expect(ended.map(({ at }) => at)).toEqual([100, 101, 200, 200, 200])
    expect(ended.map(({ calls }) => calls)).toEqual([1, 1, 1, 1, 1])
  })

  test('a running call answers no read that was requested later', async () => {
    const all = world([{ reads: 10, answers: 90 }])
    all.write('a', 1)
    asking(all, [['a'], ['a']])
    all.later(20, () => all.write('a', 2))
    const late = new Promise<unknown>(resolve => all.later(30, () => resolve(all.read(['a']))))
    await all.run()
    expect(
      versionIn(((await late) as Map<string, Record<string, unknown>>).get(tableKeyText(place('a')))),
    ).toBe(2)
  })

  test('a hanging call delays other reads by at most 200 ms', async () => {
    const hangs: Fate = { reads: 0, answers: 60_000 }
    const all = world([hangs, hangs, slow])
    asking(all, [['a'], ['a'], ['b'], ['c']])
    await all.run()
    expect(sentAs(all)).toEqual(['0 a', '1 a', '200 b,c'])
  })

  test('a read of many keys has its own call, and a shared call has at most 50 keys', async () => {
    const some = (count: number, of: string) => Array.from({ length: count }, (_, index) => `${of}${index}`)
    const all = world([slow])
    asking(all, [['a'], ['a'], some(30, 'x'), some(30, 'y'), some(20, 'x'), some(51, 'z')])
    await all.run()
    expect(all.sent.map(({ at, alone, keys }) => [at, alone, keys.length])).toEqual([
      [0, false, 1],
      [1, false, 1],
      [5, true, 51],
      [100, false, 30],
      [101, false, 30],
    ])
  })

  test('items of several large kinds are not read by one call', async () => {
    const all = world([slow])
    asking(all, [['a'], ['a'], ['policy1'], ['b', 'policy2'], ['c', 'mounts'], ['d'], ['mounts', 'policy1']])
    await all.run()
    expect(sentAs(all)).toEqual([
      '0 a',
      '1 a',
      '6 alone mounts,policy1',
      '100 policy1,b,policy2,d',
      '101 c,mounts',
    ])
  })

  test('a frozen environment, or a clock that is set back, delays no read', async () => {
    for (const ms of [3_600_000, -3_600_000]) {
      const all = world([{ reads: 0, answers: 100_000_000 }, { reads: 0, answers: 100_000_000 }, slow])
      asking(all, [['a'], ['a']])
      all.later(10, () => all.setClock(ms))
      all.later(10, () => void all.read(['b']))
      await all.run()
      expect(sentAs(all)).toEqual(['0 a', '1 a', `${ms} b`])
    }
  })
})

describe('faults of shared reads', () => {
  const first = [['a'], ['a']]

  test('a failed shared call is repeated by each caller, and fails only those whose own call fails', async () => {
    const fails: Fate = { ...slow, fails: true }
    const all = world([slow, slow, fails, slow, fails])
    const ended = asking(all, [...first, ['b'], ['c']])
    await all.run()
    expect(sentAs(all)).toEqual(['0 a', '1 a', '100 b,c', '200 alone b', '200 alone c'])
    expect(ended.slice(2)).toEqual([
      { at: 300, calls: 2 },
      { at: 300, error: 'the engine is not there' },
    ])
  })

  test('a failed call with a single caller is not repeated', async () => {
    const all = world([{ ...slow, fails: true }])
    expect(asking(all, [['a']])).toBeDefined()
    await all.run()
    expect(sentAs(all)).toEqual(['0 a'])
  })

  test('unprocessed keys delay only their callers', async () => {
    const all = world([slow, slow, { ...slow, leaves: 1 }, slow])
    const ended = asking(all, [...first, ['b'], ['c'], ['b', 'd']])
    await all.run()
    expect(sentAs(all)).toEqual(['0 a', '1 a', '100 b,c,d', '203 b'])
    expect(ended.slice(2)).toEqual([
      { at: 303, calls: 2 },
      { at: 200, calls: 1 },
      { at: 303, calls: 2 },
    ])
  })

  test('keys that are left unprocessed twice are read in a call of their own', async () => {
    const leaves: Fate = { ...slow, leaves: 1 }
    const all = world([leaves, leaves, slow])
    const ended = asking(all, [['a']])
    await all.run()
    expect(sentAs(all)).toEqual(['0 a', '103 a', '203 alone a'])
    expect(ended).toEqual([{ at: 303, calls: 3 }])
  })

  test('three seconds after the first unanswered call, each caller makes its own call', async () => {
    const hangs: Fate = { reads: 0, answers: 9000 }
    const all = world([hangs, hangs, hangs, slow, slow])
    const ended = asking(all, [...first, ['b'], ['c']])
    await all.run()
    expect(sentAs(all)).toEqual(['0 a', '1 a', '200 b,c', '3002 alone b', '3003 alone c'])
    expect(ended.map(({ at }) => at)).toEqual([9000, 9001, 3102, 3103])
  })

  test('the items that callers share are frozen objects', async () => {
    const all = world([slow])
    all.write('a', 1)
    const [one, other] = [all.read(['a']), all.read(['a'])]
    await all.run()
    const item = (await one).get(tableKeyText(place('a'))) as { data: { version: number } }
    expect(() => {
      item.data.version = 2
    }).toThrow(TypeError)
    expect(versionIn((await other).get(tableKeyText(place('a'))))).toBe(1)
  })
})
