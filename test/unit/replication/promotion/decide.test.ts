import { describe, expect, test } from 'vitest'
import { createFirstHead } from '../../../../shared/journal/head.ts'
import {
  decidePromotion,
  type PrimaryFacts,
  type PromotionFacts,
  runPromotionChecks,
} from '../../../../shared/replication/promotion/decide.ts'

const NOW = Date.UTC(2026, 10, 22, 12)
const EPOCH = '000001.aaaaaaaaaaaa'
const head = { ...createFirstHead(EPOCH, 1), mode: 'applying', own: '', last: 100, applied: 100 } as const
const answers: PrimaryFacts = { state: 'answers', format: 1, lag: 0 }
/** Facts of a secondary that can be promoted without obstacles. */
const fine: PromotionFacts = {
  head,
  primary: answers,
  keyring: { opened: 3, failed: [] },
  corrupted: false,
  reindexing: false,
  copied: false,
  format: 1,
  now: NOW,
}
const silentFor = (ms: number): Partial<PromotionFacts> => ({
  primary: { state: 'silent', lastAnswerAt: NOW - ms, silentMs: ms },
})
const decide = (facts: Partial<PromotionFacts>, force = false) =>
  decidePromotion({ ...fine, ...facts }, { force })

test('a secondary that follows and lacks nothing may be promoted without warnings', () => {
  expect(decide({})).toEqual({ warnings: [] })
  expect(decide({}, true)).toEqual({ warnings: [] })
})

describe('obstacles of a promotion that force overrides', () => {
  test.each<[name: string, facts: Partial<PromotionFacts>, text: RegExp]>([
    ['merkle-sync', { head: { ...head, mode: 'syncing' } }, /merkle-sync/],
    ['merkle-diff', { head: { ...head, mode: 'draining' } }, /merkle-diff/],
    ['a replay after a sync', { head: { ...head, replayUntil: 130 } }, /from position 130 on.* at 100/],
    ['items of an unfinished sync', { head: { ...head, unfinishedSync: 'all' } }, /a sync has fetched/],
    ['a corrupted tree', { corrupted: true }, /corrupted/],
    ['a reindex', { reindexing: true }, /reindex/],
    ['journal entries that cannot be applied', { stuck: 'policy p' }, /cannot be applied: policy p/],
    [
      'fields of some terms that cannot be decrypted',
      { keyring: { opened: 1, failed: ['role hmacKey'] } },
      /role hmacKey/,
    ],
    ['a lag of more than 5 s', { primary: { ...answers, lag: 5001 } }, /5 s behind/],
    ['journals that have diverged', { primary: { ...answers, lag: 'diverged' } }, /diverged/],
    ['a primary that was silent for less than a minute', silentFor(59_999), /answered 60 s ago/],
    [
      'a primary whose last answer is in the future by this clock',
      { primary: { state: 'silent', lastAnswerAt: NOW + 3000, silentMs: 0 } },
      /answered 0 s ago/,
    ],
    [
      'a clock that was set while the primary did not answer',
      { primary: { state: 'silent', lastAnswerAt: NOW - 3_600_000, silentMs: 59_999 } },
      /unanswered calls show 60 s of silence/,
    ],
    ['a primary that has never answered', { primary: { state: 'silent', silentMs: 0 } }, /never answered/],
    [
      'an unsigned answer, however long the primary has been silent',
      {
        primary: {
          state: 'silent',
          lastAnswerAt: NOW - 3_600_000,
          silentMs: 3_600_000,
          unsignedAnswer: 'HTTP 503',
        },
      },
      /other than the primary .* may still be serving clients: HTTP 503/,
    ],
    ['a refusal', { primary: { state: 'refuses', text: 'west was revoked' } }, /west was revoked/],
    ['a demoted cluster', { head: { ...head, mode: 'closed' } }, /was a primary/],
  ])('%s', (_, facts, text) => {
    const { refused } = decide(facts)
    expect(refused?.code).toBe('busy')
    expect(refused?.text).toMatch(text)
    expect(refused?.text).toMatch(/use force$/)
    const forced = decide(facts, true)
    expect(forced.refused).toBeUndefined()
    expect(forced.warnings[0]).toMatch(text)
  })

  test.each<[name: string, facts: Partial<PromotionFacts>, code: string, text: RegExp]>([
    ['no first sync', { head: { ...head, lineage: [] } }, 'invalid_request', /first sync has not ended/],
    ['no journal', { head: undefined }, 'invalid_request', /first sync has not ended/],
    [
      'a restored copy',
      { copied: true },
      'invalid_request',
      /secondary\/disable makes this cluster an ordinary cluster/,
    ],
    ['a keyring that decrypts nothing', { keyring: { opened: 0, failed: ['x'] } }, 'busy', /KMS key/],
  ])('with %s a promotion is refused even with force', (_, facts, code, text) => {
    for (const force of [false, true]) {
      const { refused } = decide(facts, force)
      expect(refused?.code).toBe(code)
      expect(refused?.text).toMatch(text)
      expect(refused?.text).toMatch(/force does not help here$/)
    }
  })

  test('without a primary the refusal has no Retry-After', () => {
    const alone = { primary: { state: 'none' } } as const
    for (const facts of [alone, { ...alone, corrupted: true }]) {
      const { refused } = decide(facts)
      expect(refused).toMatchObject({ code: 'invalid_request' })
      expect(refused).not.toHaveProperty('retryAfter')
      expect(refused?.text).toMatch(
        /knows no primary.*update-primary gives this cluster a primary; .*use force$/,
      )
      expect(decide(facts, true).refused).toBeUndefined()
    }
  })

  test.each<[name: string, facts: Partial<PromotionFacts>, seconds: number]>([
    ['a primary that counts as lost in 12 s', silentFor(48_000), 12],
    ['a primary that counts as lost within a second', silentFor(59_999), 1],
    ['a primary that was silent for a second', silentFor(1000), 15],
    [
      'an unsigned answer',
      {
        primary: {
          state: 'silent',
          lastAnswerAt: NOW - 90_000,
          silentMs: 90_000,
          unsignedAnswer: 'HTTP 429',
        },
      },
      15,
    ],
    ['a lag', { primary: { ...answers, lag: 7000 } }, 5],
    ['a sync', { head: { ...head, mode: 'syncing' } }, 10],
    ['a refusal', { primary: { state: 'refuses', text: 'west was revoked' } }, 30],
    ['a lag and a corrupted tree', { primary: { ...answers, lag: 7000 }, corrupted: true }, 30],
    ['a keyring that cannot be unwrapped', { keyring: { opened: 0, failed: ['x'] } }, 30],
  ])('the Retry-After of a refusal because of %s', (_, facts, seconds) => {
    expect(decide(facts).refused?.retryAfter).toBe(seconds)
  })

  test('a refusal names all obstacles', () => {
    const { refused } = decide({ corrupted: true, primary: { ...answers, lag: 60_000 } })
    expect(refused?.text).toMatch(/corrupted.*60 s behind/)
  })
})

describe('facts that are no obstacle to a promotion', () => {
  test('a lag of 5 s is no obstacle', () => {
    expect(decide({ primary: { ...answers, lag: 5000 } })).toEqual({ warnings: [] })
  })

  test('a primary that was silent for a minute is no obstacle, and the warning names position and time', () => {
    const { refused, warnings } = decide(silentFor(60_000))
    expect(refused).toBeUndefined()
    expect(warnings).toEqual([
      expect.stringContaining('60 s ago, at 2026-11-22T11:59:00'),
      expect.stringMatching(/^revocations and retirements of terms .* repeat them on this cluster by POST /),
    ])
    expect(warnings[0]).toContain(`${EPOCH}/100`)
  })

  test.each([
    [{ onceSeconds: 0, learns: false }, []],
    [{ onceSeconds: 360, learns: false }, [/log in once more .* at most 360 s/]],
    [{ onceSeconds: 0, learns: true }, [/learnt again/]],
  ])('without a handover the warnings say what is lost of logins by %j', (jwtLogins, expected) => {
    for (const facts of [silentFor(60_000), { primary: { state: 'none' } } as const])
      expect(decide({ ...facts, jwtLogins }, true).warnings.slice(-1 - expected.length)).toEqual([
        ...expected.map(text => expect.stringMatching(text)),
        expect.stringMatching(/^blocks of issuers and of accounts /),
      ])
    expect(decide({ jwtLogins }).warnings).toEqual([])
  })

  test('without a handover a deployment with instanceEvents warns of lost ends of instances', () => {
    const warnings = (instanceEvents?: boolean) =>
      decide({ ...silentFor(60_000), instanceEvents }, true).warnings.filter(text =>
        text.startsWith('ends of instances'),
      )
    expect(warnings(true)).toHaveLength(1)
    expect([warnings(false), warnings()]).toEqual([[], []])
    expect(decide({ instanceEvents: true }).warnings).toEqual([])
  })

  test.each([
    [undefined, /lacks the commits after that position$/],
    [103, /: at least 3 positions up to 103, which the primary’s last answer named, and all later commits/],
    [100, /: all commits after the primary’s last answer, and no earlier commits$/],
    [99, /no earlier commits$/],
  ])(
    'the warning about a silent primary counts the missing positions if the primary reported %s',
    (heard, expected) => {
      expect(decide({ ...silentFor(60_000), lastKnownPosition: heard }).warnings[0]).toMatch(expected)
    },
  )

  test('a silent primary is no obstacle, but other obstacles still count', () => {
    expect(decide({ ...silentFor(60_000), corrupted: true }).refused?.text).toMatch(/corrupted/)
  })

  test('a primary of an older format is no obstacle; the warning says that the primary cannot return before its upgrade', () => {
    const { refused, warnings } = decide({ format: 2 })
    expect(refused).toBeUndefined()
    expect(warnings).toEqual([expect.stringMatching(/format 1, this cluster 2.*upgrade/)])
  })
})

describe('the text of each obstacle to a promotion', () => {
  const LAST = '; repeat the request later, or use force'
  const FINAL = '; force does not help here'
  const rows: Readonly<Record<string, readonly [facts: Partial<PromotionFacts>, text: string][]>> = {
    'restored-copy': [
      [
        { copied: true },
        `this cluster is a restored copy of another cluster, with the id and the key of the copied cluster; POST sys/replication/dr/secondary/disable makes this cluster an ordinary cluster, which serves clients with its data${FINAL}`,
      ],
    ],
    'first-sync': [
      [
        { head: { ...head, lineage: [] } },
        `this cluster has never had all items of its primary, because its first sync has not ended; wait until GET sys/replication/dr/status shows stream-wals, or start again by secondary/disable and secondary/enable${FINAL}`,
      ],
    ],
    keyring: [
      [
        { keyring: { opened: 0, failed: [] } },
        `the keyring does not open: no encrypted field can be read; check that this cluster’s KMS key is enabled, and that this cluster may use the key${FINAL}`,
      ],
    ],
    'keyring-terms': [
      [
        { keyring: { opened: 1, failed: ['role hmacKey', 'config secretKey'] } },
        `the keyring cannot decrypt some fields: role hmacKey, config secretKey${LAST}`,
      ],
    ],
    'newest-term': [
      [
        { keyring: { opened: 1, failed: [], missing: 'AbC' } },
        `this cluster does not have the key term AbC, with which the primary encrypts: this cluster cannot decrypt data of that term; if the rotation retired older terms, this cluster accepts batch tokens of those terms again${LAST}`,
      ],
    ],
    sync: [
      [{ head: { ...head, mode: 'syncing' } }, `a sync is running (merkle-sync)${LAST}`],
      [{ head: { ...head, mode: 'draining' } }, `a sync is about to begin (merkle-diff)${LAST}`],
      [
        { head: { ...head, replayUntil: 130 } },
        `items that a sync has fetched are consistent only from position 130 on, and this cluster is at 100${LAST}`,
      ],
    ],
    corrupted: [
      [
        { corrupted: true },
        `items keep differing from those of the primary, or a check has found the tree of items corrupted: POST sys/replication/dr/secondary/reindex with diff, then sys/replication/dr/secondary/recover, repair these items${LAST}`,
      ],
    ],
    reindex: [[{ reindexing: true }, `a reindex is running${LAST}`]],
    stuck: [
      [
        { stuck: 'policy p' },
        `received journal entries cannot be applied: policy p; POST sys/replication/dr/secondary/recover tries again${LAST}`,
      ],
    ],
    'no-primary': [
      [
        { primary: { state: 'none' } },
        'this cluster knows no primary, so the commits that this cluster lacks are unknown; POST sys/replication/dr/secondary/update-primary gives this cluster a primary; repeat the request when the obstacle is removed, or use force',
      ],
    ],
    'not-following': [
      [
        { head: { ...head, mode: 'closed' } },
        `this cluster was a primary, and has not followed another primary yet; POST sys/replication/dr/secondary/update-primary makes this cluster follow the present primary${LAST}`,
      ],
    ],
    refused: [
      [
        { primary: { state: 'refuses', text: 'west was revoked' } },
        `the primary answers, and refuses this cluster: west was revoked${LAST}`,
      ],
    ],
    silent: [
      [
        { primary: { state: 'silent', silentMs: 0 } },
        `the primary does not answer, and has never answered${LAST}`,
      ],
      [
        silentFor(12_000),
        `the primary does not answer; it last answered 12 s ago; unanswered calls show 12 s of silence, and a promotion without force needs 60 s${LAST}`,
      ],
      [
        {
          primary: {
            state: 'silent',
            lastAnswerAt: NOW - 90_000,
            silentMs: 90_000,
            unsignedAnswer: 'HTTP 429',
          },
        },
        `a server other than the primary answers at the primary’s address, and the primary may still be serving clients: HTTP 429${LAST}`,
      ],
    ],
    lag: [
      [
        { primary: { ...answers, lag: 'diverged' } },
        `the journals of this cluster and of the primary have diverged (merkle-diff)${LAST}`,
      ],
      [
        { primary: { ...answers, lag: 7000 } },
        `this cluster is 7 s behind its primary: more than 5 s${LAST}`,
      ],
    ],
  }

  test('every obstacle to a promotion is in this table', () => {
    expect(runPromotionChecks(fine).map(({ name }) => name)).toEqual(Object.keys(rows))
  })

  test.each(
    Object.entries(rows).flatMap(([name, cases]) => cases.map(([facts, text]) => ({ name, facts, text }))),
  )('$name: $text', ({ name, facts, text }) => {
    expect(decide(facts).refused?.text).toBe(text)
    const found = runPromotionChecks({ ...fine, ...facts }).filter(check => check.text !== undefined)
    expect(found.map(check => check.name)).toEqual([name])
  })
})
