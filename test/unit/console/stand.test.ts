import { describe, expect, test } from 'vitest'
import { type Said, saidOf } from '../../../shared/console/said.ts'
import { clusterStandOf, pairSentence, type StandSeen, states } from '../../../shared/console/stand.ts'

const NOW = 1_750_000_000_000
const health = (status: number, more: object = {}) => ({
  status,
  body: { initialized: true, cluster_name: 'west', product_version: '0.1.0', ...more },
})
const peer = {
  api_address: 'https://east.example.com',
  cluster_address: 'https://east.example.com',
  connection_status: 'connected',
  last_heartbeat: '2026-01-01T00:00:00Z',
  clock_skew_ms: '-3',
  replication_primary_canary_age_ms: '1200',
}
const secondary = {
  mode: 'secondary',
  cluster_id: 'set-1',
  state: 'stream-wals',
  connection_state: 'ready',
  last_remote_wal: 41,
  primaries: [{ ...peer, last_position: 42 }],
}
const primary = {
  mode: 'primary',
  cluster_id: 'set-1',
  state: 'running',
  last_wal: 42,
  last_dr_wal: 42,
  secondaries: [{ ...peer, node_id: 'west' }],
}
const seen = (status: object, code = 472, more: object = {}): StandSeen => ({
  word: { said: saidOf(health(code, more), status), at: NOW },
})

const keyringFault = { part: 'keyring', ongoing: true, text: 'it is off', last: '12:00', ended: '' }

/** Answers of a cluster, the state that they come to, and what the sentence says should be. */
const vectors: readonly (readonly [state: string, seen: StandSeen, should: RegExp])[] = [
  ['uninitialised', seen({ mode: 'disabled' }, 501, { initialized: false }), /should be initialised once/],
  ['corrupted', seen({ ...secondary, corrupted_merkle_tree: true }), /should be reindexed/],
  ['bootstrapping', seen({ mode: 'bootstrapping' }, 503), /should be a secondary within minutes/],
  [
    'changing',
    seen({ ...secondary, operation: { id: '1', name: 'promotion', step: 'drain' } }),
    /promotion is under way, at the step drain\. It should be over within a minute/,
  ],
  [
    'failing',
    seen({ mode: 'disabled', recent_faults: [keyringFault] }, 200),
    /KMS does not decrypt its keyring\. The KMS key should be enabled.* Last at 12:00: it is off\.$/,
  ],
  [
    'failing',
    seen({ ...primary, recent_faults: [{ ...keyringFault, part: 'logins' }] }, 200),
    /should succeed/,
  ],
  [
    'disabled',
    seen({ mode: 'disabled', recent_faults: [{ ...keyringFault, ongoing: false }] }, 200),
    /should/,
  ],
  ['disabled', seen({ mode: 'disabled' }, 200), /should be the primary of a DR set/],
  ['closed', seen({ ...primary, state: 'idle' }, 503), /should serve again/],
  ['closed', seen(primary, 503), /its keyring does not open/],
  [
    'alone',
    seen({ ...primary, secondaries: [{ node_id: 'west', connection_status: 'disconnected' }] }, 200),
    /no secondary is connected \(1 is known\)\. One should be/,
  ],
  ['serving', seen(primary, 200), /to 1 secondary\. That is as it should be/],
  ['activation-failed', seen({ ...secondary, activation_error: 'no way' }), /no way\. It should be disabled/],
  ['follows-nobody', seen({ ...secondary, primaries: [] }), /should follow the present primary/],
  [
    'cut-off',
    seen({ ...secondary, state: 'idle', connection_state: 'transient_failure' }),
    /does not answer any more\. It should hear/,
  ],
  [
    'cut-off',
    seen({ ...secondary, state: 'idle', connection_state: 'connecting', primaries: [{}] }),
    /has never answered/,
  ],
  ['syncing', seen({ ...secondary, state: 'merkle-sync' }), /should stream again/],
  ['comparing', seen({ ...secondary, state: 'merkle-diff' }), /should stream, or fetch/],
  ['stuck', seen({ ...secondary, state: 'idle' }), /should stream: its log tells/],
  [
    'behind',
    seen({ ...secondary, primaries: [{ ...peer, replication_primary_canary_age_ms: '20000' }] }),
    /is 20 s old\. It should be at most 5 s behind/,
  ],
  ['streaming', seen(secondary), /That is as it should be/],
]

describe('where a cluster stands, by its own word', () => {
  test.each(vectors)('%s', (state, given, should) => {
    expect(clusterStandOf(given)).toMatchObject({ state, sentence: expect.stringMatching(should) })
  })

  test('every state of the table has a vector, and every sentence says what should be', () => {
    expect(new Set(vectors.map(([state]) => state))).toEqual(new Set(states))
    for (const [, given] of vectors) expect(clusterStandOf(given).sentence).toMatch(/should/)
  })

  test('work on the tree is no change of the role', () => {
    const checking = { ...secondary, operation: { id: '1', name: 'merkle-check', step: 'check' } }
    expect(clusterStandOf(seen(checking)).state).toBe('streaming')
  })

  test('one that cannot be reached keeps its last word, and that does not count any more', () => {
    const fault = { at: NOW + 1, text: 'no answer in time' }
    const word = seen(secondary)
    expect(clusterStandOf({ ...word, fault })).toMatchObject({
      state: 'unreachable',
      tone: 'bad',
      sentence: expect.stringMatching(/no answer in time\. It should answer.*last word/),
    })
    expect(clusterStandOf({ fault }).sentence).toContain('has not said a word so far')
    expect(clusterStandOf({ ...word, fault: { ...fault, at: NOW - 1 } }).state).toBe('streaming')
    expect(clusterStandOf({}).state).toBe('asking')
  })

  test('a mode of another version is no state that is known', () => {
    expect(clusterStandOf(seen({ mode: 'tertiary' }, 200)).state).toBe('unknown')
  })
})

describe('what both words come to', () => {
  const named = (name: string, status: object, code: number): StandSeen =>
    seen(status, code, { cluster_name: name })
  const [east, west] = [named('east', primary, 200), named('west', secondary, 472)]
  const gone: StandSeen = { ...east, fault: { at: NOW + 1, text: 'no connection' } }

  test.each<[string, StandSeen, StandSeen | undefined, string, RegExp]>([
    ['a pair', west, east, 'good', /^east serves, and west is its secondary/],
    ['one alone', west, undefined, 'unknown', /no other one is named/],
    ['the other one is gone', west, gone, 'bad', /Only west can be heard.*before anybody is promoted/],
    ['this one has not answered', {}, east, 'unknown', /nothing is known/],
    [
      'two primaries',
      named('west', primary, 200),
      east,
      'bad',
      /Both say that they are the primary\. One should be/,
    ],
    ['two secondaries', west, named('east', secondary, 472), 'bad', /nobody serves\. One should be promoted/],
    ['two sets', west, named('east', { ...primary, cluster_id: 'set-2' }, 200), 'bad', /different sets/],
    ['no pair yet', named('west', { mode: 'disabled' }, 200), east, 'unknown', /no pair/],
  ])('%s', (_, own, other, tone, text) => {
    expect(pairSentence(own, other)).toEqual({ tone, text: expect.stringMatching(text) })
  })
})

test('whatever an answer is made of, what is read of it has its form', () => {
  const empty = saidOf({ status: 200, body: undefined }, undefined)
  for (const odd of [
    null,
    [],
    'text',
    7,
    {
      mode: {},
      secondaries: 'x',
      primaries: [null],
      operation: 5,
      readiness: [],
      merkle_sync_progress: 1,
      fences: [1],
    },
  ]) {
    const said: Said = saidOf({ status: 200, body: odd }, odd)
    expect(typeof said.mode).toBe('string')
    expect(said.secondaries).toEqual([])
    expect({ ...said, primary: undefined, operation: undefined, sync: undefined, fences: [] }).toMatchObject({
      ...empty,
    })
    expect(clusterStandOf({ word: { said, at: NOW } }).state).toBe('uninitialised')
  }
})
