import { describe, expect, test } from 'vitest'
import { createPace, RunEnded } from '../../../../../infra/command/prove/pace.ts'
import {
  findBudgetFault,
  priceAfter,
  proveBounds,
  provePrices,
} from '../../../../../infra/command/prove/prices.ts'
import { readLimit } from '../../../../../infra/command/prove/prove.ts'

const MINUTE = 60_000

describe('the price of a run', () => {
  test('grows with the time, and is below a dollar after the longest run', () => {
    expect(priceAfter(0)).toBeCloseTo(provePrices.reduce((sum, { once }) => sum + once, 0))
    expect(priceAfter(proveBounds.minutes * MINUTE)).toBeGreaterThan(priceAfter(MINUTE))
    expect(priceAfter(proveBounds.minutes * MINUTE)).toBeLessThan(1)
  })

  test('stops a run at 80 % of the limit', () => {
    const limit = priceAfter(30 * MINUTE) / 0.8
    expect(findBudgetFault(29 * MINUTE, limit)).toBeUndefined()
    expect(findBudgetFault(30 * MINUTE, limit)).toContain('80 % of the limit')
  })

  test('does not stop a run with the default limit before 60 minutes', () => {
    expect(findBudgetFault(60 * MINUTE - 1, proveBounds.usd)).toBeUndefined()
    expect(findBudgetFault(60 * MINUTE, proveBounds.usd)).toBe('the run has lasted 60 minutes')
  })
})

describe('--limit', () => {
  test.each([
    [undefined, 5],
    ['5', 5],
    ['0.5', 0.5],
  ])('%s is %d USD', (text, usd) => expect(readLimit(text)).toBe(usd))
  test.each(['0', '-1', '5.01', 'NaN', 'Infinity', 'x', ''])('rejects %j', text =>
    expect(() => readLimit(text)).toThrow('--limit must be a number of USD, at most 5'),
  )
  test('rejects a limit that no run keeps', () => {
    expect(() => readLimit('0.01')).toThrow('the price of a run')
  })
})

describe('the pace of a run', () => {
  const paced = () => {
    const ending = new AbortController()
    let time = 0
    const wait = async (ms: number) => {
      time += ms
    }
    return { ending, pace: createPace({ limitUsd: 5, signal: ending.signal, now: () => time, wait }) }
  }

  test('ends a wait after a signal', async () => {
    const { ending, pace } = paced()
    await pace.sleep(1000)
    ending.abort('SIGTERM')
    await expect(pace.sleep(1000)).rejects.toThrow('SIGTERM ended the run')
    expect(pace.elapsed()).toBe(1000)
  })

  test('ends a run that takes too long', async () => {
    const { pace } = paced()
    await expect(pace.sleep(60 * MINUTE)).rejects.toBeInstanceOf(RunEnded)
  })
})
