import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import {
  buildDrStatus,
  type JournalFacts,
  type StatusFacts,
} from '../../../../shared/replication/status/status.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { clusterRecord } from '../../../builders/cluster-record.ts'
import { drStatus } from '../../../support/set/dr-status.ts'
import { fieldsIn } from '../../../support/set/status-fields.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const record = (parts: Partial<ClusterRecord>): ClusterRecord =>
  clusterRecord({ id: 'c-1', name: 'east', set: 'set-1', ...parts })
const root = `${'0123456789'.repeat(6)}abcd`
const journal = {
  mode: 'writing',
  last: 224,
  applied: 223,
  root,
  rootPosition: 201,
  rootComputedAt: NOW - 65_000,
  epoch: '000003.c1',
} as const
const contact = {
  at: NOW - 4_678,
  roundTripMs: 4,
  skewMs: -1,
  canaryAt: NOW - 697,
  connectedSince: NOW - 60_000,
}
const heartbeat = { ...contact, epoch: '000003.c1', seq: 223, state: 'stream-wals', format: 1 }
const link = {
  secondaryId: 'us-west',
  primaryAddr: 'https://a.example',
  primaryAddrs: ['https://a2.example', 'https://a.example'],
  primaryKey: 'key',
  ownKey: 'sealed-secret' as EncryptedText,
}

const common = {
  cluster_id: 'set-1',
  merkle_root: root.slice(0, 40),
  merkle_root_at: 201,
  merkle_root_time: '2026-01-02T03:03:00Z',
  corrupted_merkle_tree: false,
  last_corruption_check_epoch: '-62135596800',
  last_reindex_epoch: '0',
  ssct_generation_counter: 2,
}
const peer = {
  connection_status: 'connected',
  last_heartbeat: '2026-01-02T03:04:01Z',
  last_heartbeat_duration_ms: '4',
  clock_skew_ms: '-1',
}

/** Returns the status, and checks that clients can decode the answer in every situation. */
function shown(facts: Omit<StatusFacts, 'now'>): Record<string, unknown> {
  const status = buildDrStatus({ now: NOW, ...facts })
  v.parse(drStatus, JSON.parse(JSON.stringify(status)))
  return status
}

describe('status of a cluster without replication', () => {
  test('the status contains only the mode', () => {
    expect(shown({ record: record({ mode: 'disabled' }) })).toEqual({ mode: 'disabled' })
    expect(shown({})).toEqual({ mode: 'disabled' })
  })
})

test.each(['primary', 'secondary', 'bootstrapping'] as const)(
  'a %s shows its region and since when it has its role, as far as they are known',
  mode => {
    const known = shown({ record: record({ mode, modeSince: NOW - 60_500 }), region: 'eu-west-1' })
    expect(known).toMatchObject({ role_since: '2026-01-02T03:03:05Z', region: 'eu-west-1' })
    expect(Object.keys(shown({ record: record({ mode }) }))).not.toContain('role_since')
  },
)

test('status shows recent failures for a day in every mode, and as ongoing for ten minutes unless a failure has ended', () => {
  const minutes = (count: number) => NOW - count * 60_000
  const text = 'it is off'
  const faults = [
    { part: 'keyring', text, since: minutes(60), at: minutes(9) },
    { part: 'logins', text, since: minutes(60), at: minutes(11) },
    { part: 'audit', text, since: minutes(60), at: minutes(9), endedAt: minutes(8) },
    { part: 'storage', text, since: minutes(1500), at: minutes(1441) },
  ] as const
  for (const mode of ['disabled', 'primary', 'secondary'] as const)
    expect(shown({ record: record({ mode, link }), journal, faults })['recent_faults']).toEqual([
      {
        part: 'keyring',
        ongoing: true,
        text,
        since: '2026-01-02T02:04:05Z',
        last: '2026-01-02T02:55:05Z',
        ended: '',
      },
      {
        part: 'logins',
        ongoing: false,
        text,
        since: '2026-01-02T02:04:05Z',
        last: '2026-01-02T02:53:05Z',
        ended: '',
      },
      {
        part: 'audit',
        ongoing: false,
        text,
        since: '2026-01-02T02:04:05Z',
        last: '2026-01-02T02:55:05Z',
        ended: '2026-01-02T02:56:05Z',
      },
    ])
})

describe('status of a primary', () => {
  test('status lists connected, disconnected and never connected secondaries', () => {
    const secondaries = [
      {
        id: 'us-west',
        expires: NOW,
        address: 'https://b.example',
        apiAddress: 'https://b.example',
        heartbeat: { ...heartbeat, canaryAt: heartbeat.at - 696 },
      },
      {
        id: 'lost',
        expires: NOW,
        address: 'https://c.example',
        apiAddress: 'https://c.example',
        heartbeat: { ...heartbeat, at: NOW - 30_000 },
      },
      { id: 'new', expires: NOW + 1, address: '', apiAddress: '' },
      { id: 'late', expires: NOW, address: '', apiAddress: '' },
    ]
    expect(shown({ record: record({ clusterAddr: 'https://lb.example' }), journal, secondaries })).toEqual({
      mode: 'primary',
      state: 'running',
      ...common,
      primary_cluster_addr: 'https://lb.example',
      known_secondaries: ['us-west', 'lost', 'new', 'late'],
      last_wal: 224,
      last_dr_wal: 223,
      secondaries: [
        {
          node_id: 'us-west',
          api_address: 'https://b.example',
          cluster_address: 'https://b.example',
          ...peer,
          replication_primary_canary_age_ms: '696',
        },
        expect.objectContaining({ node_id: 'lost', connection_status: 'disconnected' }),
        { node_id: 'new', connection_status: 'disconnected' },
        { node_id: 'late', connection_status: 'disconnected', expired: true },
      ],
    })
  })

  test('status without known clusters has empty lists and an empty address', () => {
    expect(shown({ record: record({}), journal })).toMatchObject({
      known_secondaries: [],
      secondaries: [],
      primary_cluster_addr: '',
    })
  })

  test('status shows a primary as idle if its journal does not write', () => {
    expect(shown({ record: record({}), journal: { ...journal, mode: 'closed' } })['state']).toBe('idle')
    expect(shown({ record: record({}) })).toMatchObject({ state: 'idle', last_wal: 0, merkle_root: '' })
  })

  test.each<[heard: string, ago: number, age: string]>([
    ['0 s', 0, '900'],
    ['9.9 s', 9_900, '900'],
    ['29.999 s', 29_999, '900'],
    ['30 s', 30_000, '30900'],
  ])('a secondary’s newest entry ages only after it disconnects: last heartbeat %s ago', (_, ago, age) => {
    const at = NOW - ago
    const one = {
      id: 'a',
      expires: 0,
      address: 'https://a',
      apiAddress: 'https://a',
      heartbeat: { ...heartbeat, at, canaryAt: at - 900 },
    }
    expect(shown({ record: record({}), journal, secondaries: [one] })).toMatchObject({
      secondaries: [{ replication_primary_canary_age_ms: age }],
    })
  })

  test.each([
    ['000001.c1', 0],
    ['000002.c2', 1],
    ['000017.c1', 16],
    ['', 0],
  ])('in epoch %j every cluster reports %i promotions', (epoch, count) => {
    const expected = { ssct_generation_counter: count }
    expect(shown({ record: record({}), journal: { ...journal, epoch } })).toMatchObject(expected)
    const follows = record({ mode: 'secondary', link })
    expect(shown({ record: follows, journal: { ...journal, epoch }, contact })).toMatchObject(expected)
  })

  test('status shows that the tree is being built, and no empty root otherwise', () => {
    const status = shown({ record: record({}), journal: { ...journal, root: '' } })
    expect(status).toMatchObject({ merkle_root: '', reindex_in_progress: true, reindex_stage: 'commit' })
    expect(status).not.toHaveProperty('reindex_building_total')
  })

  test('status shows the progress while the tree is built', () => {
    const building = { stage: 'building', done: 7, total: 9 } as const
    expect(shown({ record: record({}), journal: { ...journal, root: '', building } })).toMatchObject({
      reindex_in_progress: true,
      reindex_stage: 'building',
      reindex_building_progress: 7,
      reindex_building_total: 9,
      merkle_root: '',
    })
    expect(shown({ record: record({}), journal })).not.toHaveProperty('reindex_in_progress')
  })

  test('status shows a corrupted tree', () => {
    expect(
      shown({ record: record({}), journal: { ...journal, corrupted: true } })['corrupted_merkle_tree'],
    ).toBe(true)
  })
})

describe('status of a secondary', () => {
  const own = record({ mode: 'secondary', link })
  const applying = { ...journal, mode: 'applying', last: 223 } as const

  test('status of a streaming secondary shows its position, its primary and the clock skew', () => {
    expect(shown({ record: own, journal: applying, contact })).toEqual({
      mode: 'secondary',
      state: 'stream-wals',
      connection_state: 'ready',
      ...common,
      secondary_id: 'us-west',
      primary_cluster_addr: 'https://a.example',
      known_primary_cluster_addrs: ['https://a2.example', 'https://a.example'],
      last_remote_wal: 223,
      last_start: '2026-01-02T03:03:05Z',
      primaries: [
        {
          api_address: 'https://a2.example',
          cluster_address: 'https://a2.example',
          ...peer,
          // the primary's clock is a millisecond behind
          replication_primary_canary_age_ms: '696',
        },
      ],
    })
  })

  test.each([
    [[], true],
    [['keyring', 'lag'], false],
  ])('status shows a readiness trial that was refused by %j', (refusedBy, ready) => {
    const readiness = { at: NOW - 5_678, refusedBy, basis: '' }
    expect(shown({ record: own, journal: applying, contact, readiness })['readiness']).toEqual({
      ready,
      refused_by: refusedBy,
      tried: '2026-01-02T03:04:00Z',
    })
    expect(shown({ record: record({}), journal, readiness })).not.toHaveProperty('readiness')
  })

  test.each<[name: string, facts: Omit<StatusFacts, 'now'>, state: string, connection: string, peer: string]>(
    [
      [
        'has not reached its primary yet',
        { record: own, journal: applying },
        'idle',
        'connecting',
        'disconnected',
      ],
      [
        'is connected',
        { record: own, journal: applying, contact: { ...contact, at: NOW - 29_999 } },
        'stream-wals',
        'ready',
        'connected',
      ],
      [
        'has lost its primary in any state',
        { record: own, journal: applying, contact: { ...contact, at: NOW - 30_000 } },
        'idle',
        'transient_failure',
        'disconnected',
      ],
      [
        'compares trees',
        { record: own, journal: { ...applying, mode: 'syncing' }, contact },
        'merkle-diff',
        'ready',
        'connected',
      ],
      [
        'runs a sync',
        { record: own, journal: { ...applying, mode: 'syncing', sync: { done: 1, total: 2 } }, contact },
        'merkle-sync',
        'ready',
        'connected',
      ],
      [
        'has a new primary',
        { record: own, journal: { ...applying, mode: 'closed' } },
        'merkle-diff',
        'connecting',
        'disconnected',
      ],
      [
        'compares its own former journal with its primary’s',
        { record: own, journal: { ...applying, mode: 'closed' }, contact },
        'merkle-diff',
        'ready',
        'connected',
      ],
      [
        'stops an old link',
        { record: own, journal: { ...applying, mode: 'draining' }, contact },
        'merkle-diff',
        'ready',
        'connected',
      ],
      [
        'is about to be promoted',
        {
          record: own,
          journal: { ...applying, mode: 'draining' },
          contact,
          operation: {
            id: 'op',
            name: 'promotion',
            step: 'drain',
            isRunning: true,
            startedAt: NOW,
            changedAt: NOW,
          },
        },
        'stream-wals',
        'ready',
        'connected',
      ],
      [
        'lost its primary before the comparison',
        { record: own, journal: { ...applying, mode: 'closed' }, contact: { ...contact, at: NOW - 30_000 } },
        'idle',
        'transient_failure',
        'disconnected',
      ],
      [
        'is being wiped',
        { record: { ...own, mode: 'bootstrapping' } },
        'merkle-diff',
        'connecting',
        'disconnected',
      ],
    ],
  )('status of a secondary that %s: $2, $3, $4', (_, facts, state, connection, status) => {
    const answer = shown(facts)
    expect(answer).toMatchObject({ state, connection_state: connection })
    expect(answer['primaries']).toEqual([expect.objectContaining({ connection_status: status })])
  })

  test('without a primary the fields are empty, but no field is missing', () => {
    const { link: _, ...alone } = own
    expect(shown({ record: alone, journal: { ...applying, mode: 'closed' }, contact })).toEqual({
      mode: 'secondary',
      state: 'idle',
      connection_state: 'idle',
      ...common,
      secondary_id: '',
      primary_cluster_addr: '',
      known_primary_cluster_addrs: [],
      last_remote_wal: 0,
      last_start: '',
      primaries: [],
    })
  })

  test('status shows the addresses that the primary reported last', () => {
    const told = { ...contact, addresses: ['https://a3.example'] }
    const status = shown({ record: own, journal: applying, contact: told })
    expect(status['known_primary_cluster_addrs']).toEqual(['https://a3.example'])
    expect(status['primary_cluster_addr']).toBe('https://a.example')
    expect(shown({ record: own, journal: applying, contact: { ...told, addresses: [] } })).toMatchObject({
      known_primary_cluster_addrs: ['https://a2.example', 'https://a.example'],
    })
  })

  test("status shows the primary’s last reported position, or the secondary's own position if that is higher", () => {
    const peerAt = (seq: number) =>
      (
        shown({ record: own, journal: applying, contact: { ...contact, at: NOW - 90_000, seq } })[
          'primaries'
        ] as Record<string, unknown>[]
      )[0]
    expect(peerAt(230)).toMatchObject({
      connection_status: 'disconnected',
      last_position: 230,
      last_position_time: '2026-01-02T03:02:35Z',
    })
    expect(peerAt(220)).toMatchObject({ last_position: 223 })
  })

  test("status shows the API address that the primary reported, and the primary's link address", () => {
    const peerOf = (parts: object) =>
      shown({ record: own, journal: applying, contact: { ...contact, ...parts } })['primaries']
    expect(peerOf({ apiAddress: 'https://api.example' })).toEqual([
      expect.objectContaining({ api_address: 'https://api.example', cluster_address: 'https://a2.example' }),
    ])
    // a cluster of an earlier version reports no API address
    expect(peerOf({ apiAddress: '' })).toEqual([
      expect.objectContaining({ api_address: 'https://a2.example' }),
    ])
  })

  test('status shows the progress of a sync', () => {
    const syncing = { ...applying, mode: 'syncing', sync: { done: 3, total: 16 } } as const
    expect(shown({ record: own, journal: syncing, contact })['merkle_sync_progress']).toEqual({
      sync_progress: 3,
      sync_total_keys: 16,
    })
  })

  test('status shows no canary age before the first canary, and 0 if the clock is ahead', () => {
    const { canaryAt: _, ...without } = contact
    const ageOf = (one: typeof without) =>
      (
        shown({ record: own, journal: applying, contact: one })['primaries'] as Record<string, unknown>[]
      )[0]?.['replication_primary_canary_age_ms']
    expect(ageOf(without)).toBeUndefined()
    expect(ageOf({ ...contact, skewMs: 0, canaryAt: NOW + 5 } as typeof contact)).toBe('0')
  })
})

describe('the running operation and the last error', () => {
  const operation = {
    id: 'op-1',
    name: 'activation' as const,
    step: 'wipe',
    isRunning: true,
    startedAt: NOW - 5000,
    changedAt: NOW - 1000,
  }
  const since = '2026-01-02T03:04:00Z'

  test.each<[mode: string, facts: Omit<StatusFacts, 'now'>]>([
    ['disabled', { record: record({ mode: 'disabled' }) }],
    ['primary', { record: record({}), journal }],
    ['bootstrapping', { record: record({ mode: 'bootstrapping', link }) }],
    ['secondary', { record: record({ mode: 'secondary', link }), journal }],
  ])('an operation is shown in mode %s, with its step and the end of its wait', (_, facts) => {
    const one = { id: 'op-1', name: 'activation', step: 'wipe', since, waits_until: '', error: '' }
    expect(shown({ ...facts, operation })).toMatchObject({ operation: one })
    expect(shown({ ...facts, operation: { ...operation, waitsUntil: NOW + 29_000 } })).toMatchObject({
      operation: { ...one, waits_until: '2026-01-02T03:04:34Z' },
    })
    expect(shown({ ...facts, operation: { ...operation, waitsUntil: NOW } })).toMatchObject({
      operation: one,
    })
    expect(shown({ ...facts, operation: { ...operation, error: 'why' } })).toMatchObject({
      operation: { ...one, error: 'why' },
    })
    expect(shown({ ...facts, operation })).not.toHaveProperty('last_error')
    expect(shown(facts)).not.toHaveProperty('operation')
  })

  test('a failed operation is the last error, until a later call to the primary fails', () => {
    const own = record({ mode: 'secondary', link })
    const failed = { ...operation, isRunning: false, error: 'nothing was handed over' }
    const refused = (at: number) => ({
      ...contact,
      failedCall: { at, code: 'unauthenticated', text: 'revoked' },
    })
    const ofOperation = {
      text: 'nothing was handed over',
      time: '2026-01-02T03:04:04Z',
      operation: { id: 'op-1', name: 'activation', step: 'wipe' },
    }
    const errorIn = (parts: object) => shown({ record: own, journal, ...parts })['last_error']
    expect(errorIn({ contact, operation: failed })).toEqual(ofOperation)
    expect(errorIn({ contact, operation: failed })).not.toHaveProperty('waits_until')
    expect(errorIn({ contact: refused(NOW - 2000), operation: failed })).toEqual(ofOperation)
    const ofLink = { text: 'revoked', time: '2026-01-02T03:04:05Z' }
    expect(errorIn({ contact: refused(NOW - 500), operation: failed })).toEqual(ofLink)
    expect(errorIn({ contact: refused(NOW - 500), operation })).toEqual(ofLink)
    expect(errorIn({ contact, operation: { ...operation, isRunning: false } })).toBeUndefined()
    expect(errorIn({ contact })).toBeUndefined()
    expect(shown({ record: record({}), journal, contact: refused(NOW) })).not.toHaveProperty('last_error')
  })
})

test('status shows no keys', () => {
  const text = JSON.stringify(
    buildDrStatus({ record: record({ mode: 'secondary', link }), journal, contact, now: NOW }),
  )
  expect(text).not.toContain('sealed-secret')
  expect(text).not.toContain('"key"')
})

test('a root from an earlier version has a position but no time; without a root there is neither', () => {
  const { rootComputedAt: _, ...undated } = journal
  const rootIn = (of: Partial<JournalFacts>) => {
    const { merkle_root, merkle_root_at, merkle_root_time } = shown({
      record: record({}),
      journal: { ...undated, ...of },
    })
    return [merkle_root, merkle_root_at, merkle_root_time]
  }
  expect(rootIn({})).toEqual([root.slice(0, 40), 201, ''])
  const { root: __, rootPosition: ___, ...none } = undated
  expect(shown({ record: record({}), journal: { ...none, root: '' } })).toMatchObject({
    merkle_root: '',
    merkle_root_at: 0,
    merkle_root_time: '',
  })
})

test('the page on status has a row for every possible field, and for no other', () => {
  const page = readFileSync(new URL('../../../../docs/spec/status.md', import.meta.url), 'utf8')
  const tables = page.slice(page.indexOf('### Fields'), page.indexOf('## Readiness'))
  const [named = '', told = ''] = ['^\\| (.*?) \\|', '^\\| (.*) \\|$'].map(of =>
    [...tables.matchAll(new RegExp(of, 'gm'))].map(([, text]) => text).join(),
  )
  const words = (text: string) =>
    [...text.matchAll(/`([\w.]+)`/g)].flatMap(([, word = '']) => word.split('.'))
  const fields = [...new Set(fieldsIn(drStatus))]
  expect(fields.length).toBeGreaterThan(50)
  expect(fields.filter(field => !words(told).includes(field))).toEqual([])
  expect(words(named).filter(word => !fields.includes(word))).toEqual([])
})
