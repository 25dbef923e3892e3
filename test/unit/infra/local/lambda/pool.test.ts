import { describe, expect, test } from 'vitest'
import type { LambdaProcess } from '../../../../../infra/local/lambda/environment.ts'
import { createLambdaProcessPool, type PoolCapacity } from '../../../../../infra/local/lambda/pool.ts'

/** Makes environments whose requests end when the test ends them. */
function staged(capacity: PoolCapacity) {
  const started: { given: unknown[]; end: (() => void)[]; closed: boolean; retire: () => void }[] = []
  const pool = createLambdaProcessPool(onChange => {
    const stage = {
      given: [] as unknown[],
      end: [] as (() => void)[],
      closed: false,
      retire: () => undefined,
    }
    let busy = 0
    let retired = false
    const environment: LambdaProcess = {
      get busy() {
        return busy
      },
      get retired() {
        return retired
      },
      invoke: event => {
        stage.given.push(event)
        busy += 1
        return new Promise(resolve => {
          stage.end.push(() => {
            busy -= 1
            resolve(`answer ${event}`)
            onChange()
          })
        })
      },
      close: async () => {
        stage.closed = true
      },
    }
    stage.retire = () => {
      retired = true
      onChange()
    }
    started.push(stage)
    return environment
  }, capacity)
  return { pool, started }
}

const given = (started: ReturnType<typeof staged>['started']) => started.map(one => one.given)

describe('the environments of a function', () => {
  test('a pool starts environments up to its capacity, then gives each environment several requests, then queues requests in order', async () => {
    const { pool, started } = staged({ environments: 2, requests: 2 })
    const answers = [1, 2, 3, 4, 5, 6].map(event => pool.invoke(event))
    expect(given(started)).toEqual([
      [1, 3],
      [2, 4],
    ])
    started[1]?.end[0]?.()
    expect(given(started)).toEqual([
      [1, 3],
      [2, 4, 5],
    ])
    started[0]?.end[1]?.()
    expect(given(started)).toEqual([
      [1, 3, 6],
      [2, 4, 5],
    ])
    expect(await answers[1]).toBe('answer 2')
  })

  test('an idle environment is reused before another starts', async () => {
    const { pool, started } = staged({ environments: 8, requests: 64 })
    const first = pool.invoke('a')
    started[0]?.end[0]?.()
    await first
    void pool.invoke('b')
    expect(given(started)).toEqual([['a', 'b']])
  })

  test('with a capacity of one request, each environment serves one request at a time', () => {
    const { pool, started } = staged({ environments: 2, requests: 1 })
    for (const event of ['a', 'b', 'c']) void pool.invoke(event)
    expect(given(started)).toEqual([['a'], ['b']])
    started[0]?.end[0]?.()
    expect(given(started)).toEqual([['a', 'c'], ['b']])
  })

  test('a retired environment gets no new request and is replaced', () => {
    const { pool, started } = staged({ environments: 1, requests: 2 })
    for (const event of ['a', 'b', 'c']) void pool.invoke(event)
    started[0]?.retire()
    expect(given(started)).toEqual([['a', 'b'], ['c']])
  })

  test('an environment that was idle for a whole round ends, and a busy environment continues', async () => {
    const { pool, started } = staged({ environments: 2, requests: 1 })
    const first = pool.invoke('a')
    void pool.invoke('b')
    pool.trim()
    started[0]?.end[0]?.()
    await first
    pool.trim()
    expect(started.map(one => one.closed)).toEqual([false, false])
    pool.trim()
    expect(started.map(one => one.closed)).toEqual([true, false])
    void pool.invoke('c')
    expect(given(started)).toEqual([['a'], ['b'], ['c']])
  })

  test('a request between two rounds restarts an environment’s idle time', async () => {
    const { pool, started } = staged({ environments: 1, requests: 1 })
    const work = async (event: string) => {
      const done = pool.invoke(event)
      started[0]?.end.at(-1)?.()
      await done
    }
    await work('a')
    pool.trim()
    await work('b')
    pool.trim()
    expect(started[0]?.closed).toBe(false)
  })

  test('close ends all environments', async () => {
    const { pool, started } = staged({ environments: 2, requests: 1 })
    void pool.invoke('a')
    void pool.invoke('b')
    started[0]?.retire()
    await pool.close()
    expect(started.map(one => one.closed)).toEqual([true, true])
  })
})
