import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createProgressLine, type ProgressStream } from '../../../../infra/command/progress.ts'

const ERASE = '\r\x1b[K'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Starts the progress line of the command `x` on a stream that records its output. */
function started(
  stream: Partial<ProgressStream> = { isTTY: true },
  environment: Record<string, string> = {},
) {
  const written: string[] = []
  const line = createProgressLine({ ...stream, write: text => written.push(text) }, environment)
  line.start('x')
  return { line, written }
}

test('a wait is shown after two seconds, and then rewritten each second', () => {
  const { written } = started()
  vi.advanceTimersByTime(1999)
  expect(written).toEqual([])
  vi.advanceTimersByTime(1001)
  expect(written).toEqual([`${ERASE}x: waiting for 2 s`, `${ERASE}x: waiting for 3 s`])
})

test('other output erases the line once, and the wait is counted again', () => {
  const { line, written } = started()
  vi.advanceTimersByTime(2000)
  line.clear()
  line.clear()
  expect(written).toEqual([`${ERASE}x: waiting for 2 s`, ERASE])
  vi.advanceTimersByTime(1900)
  expect(written).toHaveLength(2)
  vi.advanceTimersByTime(1000)
  expect(written.slice(2)).toEqual([`${ERASE}x: waiting for 2 s`])
})

test('no line is shown while the user types, and the wait is counted from the answer on', async () => {
  const { line, written } = started()
  let answer = (): void => undefined
  const asked = line.hideDuring(() => new Promise<void>(resolve => (answer = resolve)))
  vi.advanceTimersByTime(10_000)
  expect(written).toEqual([])
  answer()
  await asked
  vi.advanceTimersByTime(2000)
  expect(written).toEqual([`${ERASE}x: waiting for 2 s`])
})

test('the line is erased at the end, and never shown again', () => {
  const { line, written } = started()
  vi.advanceTimersByTime(2000)
  line.stop()
  vi.advanceTimersByTime(10_000)
  expect(written).toEqual([`${ERASE}x: waiting for 2 s`, ERASE])
})

test('the line is shorter than a narrow terminal, and has no colour', () => {
  const { written } = started({ isTTY: true, columns: 10 })
  vi.advanceTimersByTime(2000)
  expect(written).toEqual([`${ERASE}x: waitin`])
})

test.each<[string, Partial<ProgressStream>, Record<string, string>]>([
  ['a pipe', {}, {}],
  ['a terminal that erases no line', { isTTY: true }, { TERM: 'dumb' }],
])('%s shows no progress', (_, stream, environment) => {
  const { line, written } = started(stream, environment)
  vi.advanceTimersByTime(10_000)
  line.stop()
  expect(written).toEqual([])
})
