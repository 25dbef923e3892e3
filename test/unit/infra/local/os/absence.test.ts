import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type AbsenceDetector, startAbsence } from '../../../../../infra/local/os/absence.ts'

let asked: number
let answer: () => void
let absence: AbsenceDetector

const ask = () =>
  new Promise<void>(resolve => {
    asked += 1
    answer = resolve
  })

beforeEach(() => {
  vi.useFakeTimers()
  asked = 0
})
afterEach(() => {
  absence.close()
  vi.useRealTimers()
})

/** Reports whether a request is served at once. */
const serves = (): boolean => absence.over() === undefined

test('a restarted host serves after it has contacted the other hosts of its set', async () => {
  absence = startAbsence(ask, true)
  expect([asked, serves()]).toEqual([1, false])
  const held = absence.over()
  answer()
  await held
  expect([asked, serves()]).toEqual([1, true])
})

test('a host without stored state serves at once, and keeps serving while it is awake', async () => {
  absence = startAbsence(ask, false)
  await vi.advanceTimersByTimeAsync(60_000)
  expect([asked, serves()]).toEqual([0, true])
})

test('a resumed host contacts the other hosts before the first request, whether request or timer comes first', async () => {
  absence = startAbsence(ask, false)
  await vi.advanceTimersByTimeAsync(3000)
  vi.setSystemTime(Date.now() + 60_000)
  expect([serves(), asked]).toEqual([false, 1])
  expect([serves(), asked]).toEqual([false, 1])
  answer()
  await absence.over()
  expect(serves()).toBe(true)
  vi.setSystemTime(Date.now() + 60_000)
  await vi.advanceTimersByTimeAsync(1000)
  expect([serves(), asked]).toEqual([false, 2])
})

test('a host serves although the other hosts never answer or the contact fails', async () => {
  absence = startAbsence(() => Promise.reject(new Error('there is no such function')), true)
  await absence.over()
  expect(serves()).toBe(true)
  absence.close()
  absence = startAbsence(() => new Promise(() => undefined), true)
  await vi.advanceTimersByTimeAsync(5000)
  expect(serves()).toBe(true)
})
