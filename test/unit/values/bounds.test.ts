import { describe, expect, test } from 'vitest'
import { ATTEMPT_TIMEOUT_MS, CALL_TIMEOUT_MS } from '../../../shared/adapters/aws/wire/limits.ts'
import { type BoundValues, findBrokenBoundRelations } from '../../../shared/values/bound-relations.ts'
import { bounds } from '../../../shared/values/bounds.ts'

describe('the bounds of the system', () => {
  test('the bounds satisfy all relations', () => expect(findBrokenBoundRelations(bounds)).toEqual([]))

  test('the bounds leave time for the last write and for renewing a lease', () => {
    expect(ATTEMPT_TIMEOUT_MS).toBeLessThanOrEqual(bounds.LAST_WRITE_MS)
    expect(CALL_TIMEOUT_MS).toBeLessThan(bounds.REENCRYPTION_LEASE_MS)
  })

  test.each<[string, Partial<BoundValues>, RegExp]>([
    [
      'journal entries kept for 20 days, and promised for 29',
      { JOURNAL_RETENTION_DAYS: 20 },
      /a day longer than guaranteed/,
    ],
    [
      'journal entries promised until the engine deletes them',
      { JOURNAL_PROMISE_DAYS: 30 },
      /a day longer than guaranteed/,
    ],
    [
      'journals that outlive the terms of their texts',
      { JOURNAL_RETENTION_DAYS: 40 },
      /a key term is kept longer/,
    ],
    ['a term that copies outlive', { TERM_KEPT_DAYS: 34 }, /a key term is kept longer/],
    ['a lease that is shorter than two heartbeats', { PULLER_LEASE_MS: 20_000 }, /two heartbeats/],
    ['a lease that is longer than a run', { PULLER_LEASE_MS: 61_000 }, /shorter than a run/],
    [
      'a peer that is lost after two heartbeats',
      { PEER_LOST_MS: 20_000 },
      /three heartbeats without an answer/,
    ],
    ['a primary that is lost before a peer', { PEER_LOST_MS: 61_000 }, /no earlier than another peer/],
    [
      'heartbeats in vain that count in part',
      { SILENCE_STEP_MS: 9_999 },
      /silence that an unanswered call can add/,
    ],
    ['a primary that is lost after two questions', { SILENCE_STEP_MS: 20_000 }, /three unanswered calls/],
    ['a lag for which a peer is lost', { LARGEST_LAG_MS: 30_000 }, /largest allowed lag/],
    [
      'a record that is too old before it is read again',
      { RECORD_REREAD_MS: 20_000 },
      /half of its allowed age/,
    ],
    ['a changeover that an old record outlives', { CHANGEOVER_WAIT_MS: 23_000 }, /a role change waits/],
    ['a login without time to commit after AWS has answered', { PROVIDER_MS: 12_000 }, /a login that waits/],
    [
      'an operation that outlives its request',
      { OPERATION_ANSWER_MS: 25_000 },
      /before the request times out/,
    ],
    ['a first step that outlives its answer', { HANDSHAKE_MS: 20_000 }, /the first step/],
    [
      'a fenced cluster whose record is too old at its answer',
      { FENCE_CALL_MS: 20_000 },
      /a call that fences a cluster/,
    ],
    ['a primary that is silent for longer than it is asked', { AWAKE_MS: 6_000 }, /polls longer/],
    ['a replay that begins behind a late write', { REPLAY_MARGIN_MS: 23_000 }, /a replay begins/],
    ['a lease of tidy that ends within its worker', { TIDY_LEASE_MS: 600_000 }, /the lease of a tidy job/],
    [
      'a lease of a rotation that ends within its request',
      { ROTATION_LEASE_MS: 25_000 },
      /the lease of a key rotation/,
    ],
    ['a lease of re-encryption that ends within a write', { REENCRYPTION_LEASE_MS: 3_000 }, /re-encryption/],
    ['a removal that a late write outlives', { LATE_WRITE_WAIT_MS: 23_000 }, /the removal of a mount waits/],
    [
      'an attempt that outlives who waits for it',
      { ATTEMPT_IDLE_SECONDS: 3601 },
      /a ceremony’s workflow waits/,
    ],
  ])('a broken relation is reported with its sentence: %s', (_, change, text) => {
    expect(findBrokenBoundRelations({ ...bounds, ...change })).toEqual([expect.stringMatching(text)])
  })
})
