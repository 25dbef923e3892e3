import { describe, expect, test } from 'vitest'
import { type ClusterState, classifyCluster, clusterStates } from '../../../shared/set/condition.ts'
import { seenAs, silent } from '../../builders/cluster-seen.ts'

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
const seen = (status: object, code = 472, more: object = {}) => seenAs('west', status, code, { ...more })

const keyringFault = { part: 'keyring', ongoing: true, text: 'it is off', last: '12:00', ended: '' }
const away = { ...peer, node_id: 'north', connection_status: 'disconnected' }

/** Answers of a cluster, the resulting state, and a part of the sentence that describes it. */
const vectors: readonly (readonly [state: ClusterState, seen: ReturnType<typeof seen>, should: RegExp])[] = [
  ['uninitialised', seen({ mode: 'disabled' }, 501, { initialized: false }), /Invoke its init function once/],
  ['corrupted', seen({ ...secondary, corrupted_merkle_tree: true }), /Reindex the cluster/],
  ['bootstrapping', seen({ mode: 'bootstrapping' }, 503), /should be a secondary within minutes/],
  [
    'changing',
    seen({ ...secondary, operation: { id: '1', name: 'promotion', step: 'drain' } }),
    /promotion is running, at the step drain\. The operation should end within a minute/,
  ],
  [
    'failing',
    seen({ mode: 'disabled', recent_faults: [keyringFault] }, 200),
    /KMS cannot unwrap its keyring\. Enable the KMS key.* The last fault was at 12:00: it is off\.$/,
  ],
  [
    'failing',
    seen({ ...primary, recent_faults: [{ ...keyringFault, part: 'logins' }] }, 200),
    /Logins fail\. The log/,
  ],
  [
    'disabled',
    seen({ mode: 'disabled', recent_faults: [{ ...keyringFault, ongoing: false }] }, 200),
    /Make it the primary/,
  ],
  ['disabled', seen({ mode: 'disabled' }, 200), /Make it the primary of a DR set/],
  ['closed', seen({ ...primary, state: 'idle' }, 503), /should serve again/],
  ['closed', seen(primary, 503), /KMS cannot unwrap its keyring/],
  [
    'alone',
    seen({ ...primary, secondaries: [{ node_id: 'west', connection_status: 'disconnected' }] }, 200),
    /no secondary is connected \(1 is known\)\. Connect a secondary/,
  ],
  ['serving', seen(primary, 200), /to 1 secondary\. All is well/],
  [
    'one-missing',
    seen({ ...primary, secondaries: [{ ...peer, node_id: 'west' }, away] }, 200),
    /north of its secondaries is not connected\. Connect that secondary again/,
  ],
  [
    'serving',
    seen(
      {
        ...primary,
        secondaries: [
          { ...peer, node_id: 'west' },
          { ...away, expired: true },
        ],
      },
      200,
    ),
    /All is well/,
  ],
  ['activation-failed', seen({ ...secondary, activation_error: 'no way' }), /no way\. Disable the cluster/],
  ['follows-nobody', seen({ ...secondary, primaries: [] }), /Make the cluster follow the present primary/],
  [
    'cut-off',
    seen({ ...secondary, state: 'idle', connection_state: 'transient_failure' }),
    /does not answer any more\. A primary should answer/,
  ],
  [
    'cut-off',
    seen({ ...secondary, state: 'idle', connection_state: 'connecting', primaries: [{}] }),
    /has never answered/,
  ],
  ['syncing', seen({ ...secondary, state: 'merkle-sync' }), /streams again/],
  ['comparing', seen({ ...secondary, state: 'merkle-diff' }), /should stream, or fetch/],
  ['stuck', seen({ ...secondary, state: 'idle' }), /The log of the cluster shows why/],
  [
    'behind',
    seen({ ...secondary, primaries: [{ ...peer, replication_primary_canary_age_ms: '20000' }] }),
    /is 20 s old\. A planned switch is refused until the cluster is at most 5 s behind/,
  ],
  [
    'not-ready',
    seen({ ...secondary, readiness: { ready: false, refused_by: ['lag'], tried: '2026-01-01T00:00:00Z' } }),
    /cannot take over: lag\. The readiness of the cluster names the obstacles/,
  ],
  ['streaming', seen(secondary), /All is well/],
]

const ADVICE =
  /should|All is well|shows? why|Invoke|Reindex|Enable|Make|Connect|Disable|until the cluster is|again afterwards|obstacles/

describe('the condition of a cluster, from its own answer', () => {
  test.each(vectors)('the condition of a cluster: %s', async (state, given, should) => {
    const condition = classifyCluster(await given)
    expect(condition.state).toBe(state)
    expect(condition.sentence).toMatch(should)
  })

  test('every state has a vector, and every sentence says what to do, to wait for, or that all is well', async () => {
    expect(new Set(vectors.map(([state]) => state))).toEqual(new Set(clusterStates))
    for (const [, given] of vectors) expect(classifyCluster(await given).sentence).toMatch(ADVICE)
  })

  test('a Merkle check is no change of the role', async () => {
    const checking = { ...secondary, operation: { id: '1', name: 'merkle-check', step: 'check' } }
    expect(classifyCluster(await seen(checking)).state).toBe('streaming')
  })

  test('a silent cluster is unreachable, and its last answer is shown and not judged', async () => {
    const gone = classifyCluster(silent(await seen(secondary), 'no answer in time'))
    expect(gone).toMatchObject({ state: 'unreachable', severity: 'bad' })
    expect(gone.sentence).toMatch(/no answer in time\. Its last answer/)
    expect(classifyCluster(silent({ name: 'west' })).sentence).toContain('has not answered so far')
    expect(classifyCluster({ name: 'west' }).state).toBe('asking')
  })

  test('a malformed answer makes a cluster unclear and not unreachable', async () => {
    expect(classifyCluster(await seenAs('west', [])).state).toBe('unclear')
  })

  test('an unknown mode makes the state unknown', async () => {
    expect(classifyCluster(await seen({ mode: 'tertiary' }, 200)).state).toBe('unknown')
  })
})
