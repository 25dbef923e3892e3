import { expect, test } from 'vitest'
import { LinkRefused, LinkSilent, LinkUnbelieved, LinkUnsigned } from '../../../../shared/link/source.ts'
import type { PrimaryContact } from '../../../../shared/model/link.ts'
import { addSilenceTime, toUnansweredCall } from '../../../../shared/replication/secondary/silence.ts'

type Asked = Pick<PrimaryContact, 'at' | 'failedCall'>

const HEARD = 1_000_000
const heard: Asked = { at: HEARD }
const silent = new LinkSilent('nobody')

/**
 * Returns the stored contact after failed calls. `after` is the number of milliseconds since the previous
 * call.
 */
const asked = (...steps: readonly (readonly [after: number, error: unknown])[]): Asked & { now: number } => {
  let known = { ...heard, now: HEARD }
  for (const [after, error] of steps) {
    const now = known.now + after
    known = { ...known, now, failedCall: toUnansweredCall(error, known, now) }
  }
  return known
}

test.each<[name: string, known: ReturnType<typeof asked>, silentMs: number]>([
  ['unanswered heartbeats count in full', asked([10_000, silent], [10_000, silent]), 20_000],
  ['an unanswered call after an hour counts 15 s', asked([3_600_000, silent]), 15_000],
  ['a call after the clock was set back counts nothing', asked([-300_000, silent]), 0],
  ['a call after the clock was set forward counts 15 s', asked([10_000, silent], [300_000, silent]), 25_000],
  [
    'silence is counted from the primary’s last refusal',
    asked([10_000, silent], [10_000, new LinkRefused('unavailable', 'busy')], [2_000, silent]),
    2_000,
  ],
  [
    'an unsigned answer in between adds nothing',
    asked([10_000, silent], [10_000, new LinkUnsigned('HTTP 503')], [5_000, silent]),
    15_000,
  ],
  [
    'an answer signed by another key adds nothing',
    asked([10_000, silent], [9_000, new LinkUnbelieved('other key')]),
    10_000,
  ],
  ['a local error adds nothing', asked([10_000, silent], [9_000, new Error('disk')]), 10_000],
])('%s', (_, known, silentMs) => {
  expect(known.failedCall?.silentMs).toBe(silentMs)
})

test('an unanswered call now adds to the stored silence; without a stored one it counts from the last call', () => {
  expect(addSilenceTime(asked([10_000, silent]), HEARD + 12_000)).toBe(12_000)
  expect(
    addSilenceTime(
      { at: HEARD, failedCall: { at: HEARD + 50_000, code: 'unavailable', text: '' } },
      HEARD + 52_000,
    ),
  ).toBe(2_000)
})

test('a refusal keeps its code, and an unanswered call is unavailable', () => {
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
