import { describe, expect, test } from 'vitest'
import { judgePair, type PairSituation, pairSituations } from '../../../shared/set/pair.ts'
import { seenAs } from '../../builders/cluster-seen.ts'
import {
  changing,
  east,
  eastBehind,
  eastClosed,
  gone,
  inNoSet,
  promotion,
  type Seen,
  starting,
  west,
  westClosed,
  westPromoted,
} from '../../builders/pair-seen.ts'

const keyringFault = { part: 'keyring', ongoing: true, text: 'off', last: '12:00' }

/** Two clusters, their situation, its severity, and the headline. */
const vectors: readonly (readonly [PairSituation, Seen, Seen, string, RegExp])[] = [
  ['following', east(), west(), 'good', /^east serves, and west is its secondary\.$/],
  ['following', west(), east(), 'good', /^east serves, and west is its secondary\.$/],
  [
    'following',
    east(),
    west({ readiness: { ready: false, refused_by: ['lag'], tried: '' } }),
    'bad',
    /^west: .*cannot take over: lag/,
  ],
  [
    'following',
    east({ recent_faults: [{ part: 'logins', ongoing: true }] }),
    west(),
    'bad',
    /^east: Logins fail/,
  ],
  // the set after a planned switch
  [
    'unfollowed',
    eastClosed(),
    westPromoted(),
    'bad',
    /^west serves; east does not follow it yet\. Until east follows, losing west/,
  ],
  [
    'adopting',
    eastClosed({ operation: changing('update-primary') }),
    westPromoted(),
    'busy',
    /about to follow/,
  ],
  [
    'catching-up',
    eastBehind({ state: 'merkle-diff' }),
    westPromoted(),
    'busy',
    /\(merkle-diff\)\. This needs no action/,
  ],
  // the set after west was revoked on east
  [
    'revoked',
    east({ known_secondaries: [], secondaries: [] }),
    west({ connection_state: 'transient_failure', state: 'idle' }),
    'bad',
    /^east serves and does not know west/,
  ],
  [
    'cut-off',
    east(),
    west({ connection_state: 'connecting', state: 'idle' }),
    'bad',
    /west has no contact to it/,
  ],
  // a truncated list proves nothing about missing names
  [
    'cut-off',
    east({ known_secondaries: [], not_shown: { secondaries: 9, terms: 0, clusters: 0 } }),
    west({ connection_state: 'connecting' }),
    'bad',
    /./,
  ],
  // the set in the middle of a planned switch
  ['promoting', east(), west({ operation: promotion }), 'busy', /^west is taking over from east\./],
  ['promoting', eastClosed(), west({ operation: promotion }), 'busy', /for some seconds no cluster serves/],
  [
    'following',
    eastBehind(),
    westPromoted({ operation: promotion }),
    'busy',
    /^west serves, and east is .* west: The operation/,
  ],
  // the last steps of the promotion run
  [
    'unfollowed',
    eastClosed(),
    westPromoted({ operation: promotion }),
    'busy',
    /^west serves; .* west: The operation/,
  ],
  [
    'unfollowed',
    eastClosed(),
    westPromoted({ operation: promotion }, 503),
    'busy',
    /^west: The operation prom/,
  ],
  ['primary-silent', gone(east()), west({ operation: promotion }), 'busy', /^west: The operation promotion/],
  [
    'handed-over',
    eastClosed(),
    west(),
    'bad',
    /^No cluster serves: east has handed over or closed, and west has not/,
  ],
  // the set after a promotion by force
  ['superseded', east(), westPromoted(), 'busy', /^west serves\. east was the primary before/],
  [
    'peer-silent',
    gone(east()),
    westPromoted({ secondaries: [] }),
    'bad',
    /^west serves\. east does not answer/,
  ],
  [
    'peer-silent',
    gone(east()),
    westPromoted(),
    'bad',
    /^west serves, and a secondary is connected\. east does/,
  ],
  [
    'following',
    eastBehind(),
    westPromoted({ secondaries: [] }),
    'busy',
    /^west serves.* not received a heartbeat/,
  ],
  [
    'two-primaries',
    east(),
    westPromoted({ ssct_generation_counter: 1 }),
    'bad',
    /after equally many promotions/,
  ],
  ['two-sets', east(), west({ cluster_id: 'other' }), 'bad', /different sets/],
  ['primary-silent', gone(east()), west(), 'bad', /Only west answers here.*before you promote a cluster/],
  ['primary-silent', gone(east()), westPromoted({}, 503), 'bad', /^west is the primary\..*does not serve/],
  ['primary-silent', gone(east()), inNoSet('west'), 'bad', /^west serves\. east does not answer/],
  ['unheard', gone(east()), gone(west()), 'bad', /state of the set is unknown/],
  ['unheard', { name: 'This cluster' }, { name: 'x' }, 'unknown', /state of the set is unknown/],
  ['closed', east({ state: 'idle' }, 503), west(), 'bad', /^east is the primary\. .*does not serve/],
  ['closed', east({}, 503), inNoSet('west'), 'bad', /KMS cannot unwrap its keyring/],
  [
    'closed',
    east({ recent_faults: [keyringFault] }, 503),
    west(),
    'bad',
    /^east is the primary, and does not serve\. KMS/,
  ],
  [
    'unfollowed',
    eastClosed({ recent_faults: [keyringFault] }),
    westPromoted(),
    'bad',
    /yet\. .* east: KMS cannot/,
  ],
  ['becoming', east(), starting('west'), 'busy', /^west is becoming a secondary/],
  [
    'unjoined',
    east({ known_secondaries: [], secondaries: [] }),
    inNoSet('west'),
    'bad',
    /west is in no set\. Make west a secondary/,
  ],
  ['no-set', inNoSet('east'), inNoSet('west'), 'unknown', /Neither east nor west/],
  ['no-primary', eastClosed(), westClosed(), 'bad', /^No cluster serves: .* Promote one/],
  [
    'elsewhere',
    eastBehind(),
    west(),
    'bad',
    /^Neither east nor west is the primary: east follows https:\/\/west/,
  ],
  ['elsewhere', inNoSet('east'), west(), 'bad', /west follows https:\/\/east/],
  [
    'unknown',
    seenAs('east', { mode: 'tertiary' }),
    inNoSet('west'),
    'unknown',
    /are not a primary and its secondary/,
  ],
]

describe('two clusters judged together', () => {
  test.each(vectors)('%s: %#', async (situation, one, other, severity, sentence) => {
    const verdict = judgePair(await one, await other)
    expect(verdict).toMatchObject({ situation, severity })
    expect(verdict.sentence).toMatch(sentence)
  })

  test('the order of the clusters changes no verdict', async () => {
    for (const [situation, one, other, severity] of vectors)
      expect(judgePair(await other, await one)).toMatchObject({ situation, severity })
  })

  test('every situation has a vector', () => {
    const reached = new Set(vectors.map(([situation]) => situation))
    expect(pairSituations.filter(one => !reached.has(one))).toEqual([])
  })

  test('a single cluster is judged alone', async () => {
    expect(judgePair(await inNoSet('east'), undefined)).toMatchObject({
      situation: 'single',
      severity: 'good',
    })
    expect(judgePair(await east(), undefined)).toMatchObject({ situation: 'single', severity: 'unknown' })
    expect(judgePair(await west({ state: 'idle' }), undefined)).toMatchObject({ severity: 'bad' })
    expect(judgePair({ name: 'x' }, undefined)).toMatchObject({ situation: 'unheard', severity: 'unknown' })
    expect(judgePair(await gone(east()), undefined)).toMatchObject({ situation: 'unheard', severity: 'bad' })
  })

  test('a long or misleading text of a cluster is cut in the sentence', async () => {
    const { sentence } = judgePair(await east(), await west({ state: `\u202e\u001b${'x'.repeat(100_000)}` }))
    expect(sentence.length).toBeLessThan(700)
    expect(sentence).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })
})
