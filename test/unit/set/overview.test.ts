import { describe, expect, test } from 'vitest'
import { formatSet, summariseSet } from '../../../infra/command/set/shown.ts'
import { judgeSet } from '../../../shared/set/overview.ts'
import type { ObservedCluster } from '../../../shared/set/status.ts'
import { quoteName } from '../../../shared/values/words.ts'
import { seenAs } from '../../builders/cluster-seen.ts'
import {
  east,
  eastBehind,
  eastClosed,
  gone,
  inNoSet,
  PAIR_SEEN_AT,
  promotion,
  type Seen,
  west,
  westClosed,
  westPromoted,
} from '../../builders/pair-seen.ts'

const EVIL = `<img src=x onerror="alert(1)">\u202e. All is well.`
const cutOff = { connection_state: 'transient_failure', state: 'idle' }
const keyringFault = { part: 'keyring', ongoing: true, text: 'AccessDenied', last: '02:00' }
const alone = { known_secondaries: [], secondaries: [] }

/** The situations of an operator: clusters, severity, headline, and the next task. */
const situations: readonly (readonly [what: string, seen: Seen[], severity: string, RegExp, RegExp])[] = [
  ['healthy', [east(), west()], 'good', /^east serves, and west is its secondary\.$/, /^No action/],
  ['a switch begins', [east(), west({ operation: promotion })], 'busy', /^west is taking over/, /^Wait/],
  ['a switch', [eastClosed(), west({ operation: promotion })], 'busy', /^west is taking over/, /^Wait/],
  [
    'the end of a switch',
    [eastClosed(), westPromoted({ operation: { ...promotion, step: 'open' } }, 503)],
    'busy',
    /^west: The operation promotion is running, at the step open/,
    /^Wait/,
  ],
  [
    'after a switch',
    [eastClosed(), westPromoted()],
    'bad',
    /^west serves; east does not follow it yet\. Until/,
    /^Make/,
  ],
  [
    'the former primary follows',
    [eastBehind({ state: 'merkle-diff' }), westPromoted({ secondaries: [] })],
    'busy',
    /^west serves, and east is about to follow it/,
    /^Wait/,
  ],
  [
    'the primary is dead',
    [gone(east()), west(cutOff)],
    'bad',
    /^Only west answers here, and it does not serve\. Its primary last answered it at 2026-01-01T00:00:57Z\./,
    /^If the primary is lost, take over/,
  ],
  [
    'the secondary is revoked',
    [east(alone), west(cutOff)],
    'bad',
    /^east serves and does not know west/,
    /^Admit/,
  ],
  [
    'after a disaster',
    [gone(east()), westPromoted(alone)],
    'bad',
    /^west serves\. east does not answer/,
    /^Find out/,
  ],
  [
    'the lost cluster is back',
    [eastClosed(), westPromoted(alone)],
    'bad',
    /^west serves; east does not follow/,
    /^Make/,
  ],
  [
    'KMS is off',
    [east({ recent_faults: [keyringFault] }), west()],
    'bad',
    /^east: KMS cannot unwrap its keyring\. Enable the KMS key/,
    /^The sentence above/,
  ],
  [
    'KMS of the secondary is off',
    [east(), west({ recent_faults: [keyringFault] })],
    'bad',
    /^west: KMS cannot unwrap/,
    /^The sentence above/,
  ],
  [
    'a single cluster',
    [inNoSet('east')],
    'good',
    /^east: The cluster serves clients, and no other cluster/,
    /^No action/,
  ],
  ['no primary', [eastClosed(), westClosed()], 'bad', /^No cluster serves/, /^Promote/],
]
const all = async (seen: readonly Seen[]): Promise<ObservedCluster[]> => Promise.all(seen)

describe('the overview of a set', () => {
  test.each(situations)(
    'the overview says what is wrong and what to do: %s',
    async (_, seen, severity, headline, task) => {
      const { verdict, task: next } = judgeSet(await all(seen))
      expect(verdict.severity).toBe(severity)
      expect(verdict.sentence).toMatch(headline)
      expect(next).toMatch(task)
    },
  )

  test.each(situations)(
    'no card is worse than the headline, and a card has the sentence of the headline: %s',
    async (_, seen) => {
      const { verdict, cards } = judgeSet(await all(seen))
      const order = ['good', 'unknown', 'busy', 'bad']
      const worst = Math.max(...cards.map(({ severity }) => order.indexOf(severity)))
      const isRunning = verdict.severity === 'busy'
      expect(worst).toBeLessThanOrEqual(isRunning ? order.indexOf('busy') : order.indexOf(verdict.severity))
      const isSilent = cards.some(({ state }) => state === 'unreachable')
      if (verdict.severity !== 'good' && !isSilent)
        expect(cards.some(({ sentence }) => verdict.sentence.includes(sentence))).toBe(true)
    },
  )

  test.each(situations)('the command prints the same headline: %s', async (_, seen) => {
    const clusters = await all(seen)
    const named = clusters.map(({ name }) => ({ name, base: `https://${name}/v1` }))
    const summary = summariseSet(clusters, named, PAIR_SEEN_AT)
    const { verdict, task } = judgeSet(clusters)
    expect(summary).toMatchObject({ headline: verdict.sentence, next: task })
    expect(formatSet(summary)).toContain(`\n${verdict.sentence}\n`)
  })

  test.each(situations)('hostile names are quoted, and change nothing: %s', async (_, seen) => {
    const clusters = await all(seen)
    const named = clusters.map(one => ({
      ...one,
      name: quoteName(`${EVIL}${one.name}${'x'.repeat(100_000)}`),
    }))
    const [plain, hostile] = [judgeSet(clusters), judgeSet(named)]
    expect(hostile.verdict.severity).toBe(plain.verdict.severity)
    expect(hostile.cards.map(({ state, severity }) => [state, severity])).toEqual(
      plain.cards.map(({ state, severity }) => [state, severity]),
    )
    expect(hostile.verdict.sentence).not.toContain('\u202e')
    expect(hostile.verdict.sentence.length).toBeLessThan(700)
  })

  test('the headline of three clusters is the worst verdict on the primary and another cluster', async () => {
    const third = seenAs('north', { mode: 'disabled' })
    expect(judgeSet(await all([west(), east(), third])).verdict).toMatchObject({ situation: 'unjoined' })
  })

  test('the set has a fault for each sentence that is not in the headline', async () => {
    expect(judgeSet(await all([east(), west()])).faults).toEqual([])
    expect(judgeSet(await all([eastClosed(), westPromoted()])).faults).toEqual([
      expect.stringMatching(/^west serves; east does not follow it yet\./),
    ])
    expect(judgeSet(await all([gone(east()), west(cutOff)])).faults).toEqual([
      expect.stringMatching(/^Only west answers here/),
      expect.stringMatching(/^east: The cluster gives no usable answer here/),
    ])
  })
})
