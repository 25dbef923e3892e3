import { expect, test } from 'vitest'
import { LinkRefused, LinkSilent, LinkUnbelieved, LinkUnsigned } from '../../../../shared/link/source.ts'
import type { PrimaryContact } from '../../../../shared/model/link.ts'
import { addSilence, toUnansweredCall } from '../../../../shared/replication/secondary/silence.ts'

type Asked = Pick<PrimaryContact, 'at' | 'failedCall'>

const HEARD = 1_000_000
const heard: Asked = { at: HEARD }
const silent = new LinkSilent('nobody')

/** What is known after questions in vain, each so many milliseconds after the last. */
const asked = (...steps: readonly (readonly [after: number, error: unknown])[]): Asked & { now: number } => {
  let known = { ...heard, now: HEARD }
  for (const [after, error] of steps) {
    const now = known.now + after
    known = { ...known, now, failedCall: toUnansweredCall(error, known, now) }
  }
  return known
}

test.each<[name: string, known: ReturnType<typeof asked>, silentMs: number]>([
  ['questions at each heartbeat: all of it', asked([10_000, silent], [10_000, silent]), 20_000],
  ['a question long after: a quarter of a minute', asked([3_600_000, silent]), 15_000],
  ['a clock that was set back: nothing', asked([-300_000, silent]), 0],
  ['one that was set forward between two', asked([10_000, silent], [300_000, silent]), 25_000],
  [
    'a refusal of the primary’s own: from there',
    asked([10_000, silent], [10_000, new LinkRefused('unavailable', 'busy')], [2_000, silent]),
    2_000,
  ],
  [
    'a front between two',
    asked([10_000, silent], [10_000, new LinkUnsigned('HTTP 503')], [5_000, silent]),
    15_000,
  ],
  ['somebody else between two', asked([10_000, silent], [9_000, new LinkUnbelieved('other key')]), 10_000],
  ['a fault of one’s own', asked([10_000, silent], [9_000, new Error('disk')]), 10_000],
])('%s', (_, known, silentMs) => {
  expect(known.failedCall?.silentMs).toBe(silentMs)
})

test('a question in vain just now adds to what is kept; what an older version kept counts from the last question', () => {
  expect(addSilence(asked([10_000, silent]), HEARD + 12_000)).toBe(12_000)
  expect(
    addSilence(
      { at: HEARD, failedCall: { at: HEARD + 50_000, code: 'unavailable', text: '' } },
      HEARD + 52_000,
    ),
  ).toBe(2_000)
})

test('what was refused keeps its code, and what was not answered is unavailable', () => {
  expect(toUnansweredCall(new LinkRefused('permission_denied', 'revoked'), heard, HEARD)).toEqual({
    at: HEARD,
    code: 'permission_denied',
    text: 'revoked',
    silentMs: 0,
  })
  expect(toUnansweredCall('thrown', undefined, HEARD)).toEqual({
    at: HEARD,
    code: 'unavailable',
    text: '',
    silentMs: 0,
  })
})
