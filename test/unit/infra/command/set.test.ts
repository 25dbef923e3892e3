import { describe, expect, onTestFinished, test } from 'vitest'
import { namesToJoin } from '../../../../infra/command/set/join.ts'
import { type ClusterSeen, clusterNamed, lookAtCluster } from '../../../../infra/command/set/look.ts'
import { nextOfSwitch } from '../../../../infra/command/set/next.ts'
import { describedSet, shownSet } from '../../../../infra/command/set/shown.ts'
import type { ClusterTold } from '../../../../infra/command/set/status-shape.ts'
import { judgeSet } from '../../../../infra/command/set/verdict.ts'
import { webServer } from '../../../support/service/server.ts'

const NOW = Date.parse('2026-01-01T00:01:00Z')
const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString().replace('.000', '')

const seen = (
  name: string,
  status: ClusterTold,
  health = status['mode'] === 'primary' ? 200 : 472,
): ClusterSeen => ({
  name,
  base: `https://${name}/v1`,
  word: { at: NOW - 1000, health, cluster: name, status: { cluster_id: 'set', ...status } },
})
const silent = (one: ClusterSeen): ClusterSeen => ({
  ...one,
  silent: 'https://x cannot be reached (ECONNREFUSED)',
})

const east = (more: ClusterTold = {}, health?: number) =>
  seen(
    'east',
    {
      mode: 'primary',
      state: 'running',
      last_dr_wal: 12,
      ssct_generation_counter: 1,
      secondaries: [{ node_id: 'west', connection_status: 'connected', last_heartbeat: ago(5) }],
      ...more,
    },
    health,
  )
const following = {
  mode: 'secondary',
  state: 'stream-wals',
  connection_state: 'ready',
  known_primary_cluster_addrs: ['https://east'],
  primary_cluster_addr: 'https://east',
  last_remote_wal: 10,
  ssct_generation_counter: 1,
  primaries: [
    {
      api_address: 'https://east',
      connection_status: 'connected',
      last_position: 12,
      last_heartbeat: ago(3),
    },
  ],
  readiness: { ready: true, refused_by: [], tried: ago(30) },
}
const west = (more: ClusterTold = {}) => seen('west', { ...following, ...more })
const closed = { mode: 'secondary', state: 'idle', known_primary_cluster_addrs: [], primaries: [] }
const promotion = { id: 'o', name: 'promotion', step: 'drain', since: ago(1), error: '' }

describe('the verdict on a set', () => {
  test('a primary that serves and a secondary that follows are well', () => {
    expect(judgeSet([east(), west()])).toEqual({ exit: 'done', faults: [] })
    expect(judgeSet([west()])).toEqual({ exit: 'done', faults: [] })
  })

  test.each<[string, ClusterSeen[], string]>([
    [
      'a primary that does not serve',
      [east({}, 503), west()],
      'east: it is the primary, and its health is 503',
    ],
    ['a primary without secondaries', [east({ secondaries: [] })], 'east: nobody follows it'],
    [
      'a secondary that is not connected',
      [east({ secondaries: [{ node_id: 'west', connection_status: 'disconnected' }] }), west()],
      'east: its secondary west is not connected',
    ],
    ['one that follows nobody', [east(), west(closed)], 'west: it follows nobody'],
    [
      'one that is not ready',
      [east(), west({ readiness: { ready: false, refused_by: ['lag'], tried: ago(1) } })],
      'west: it could not take over: lag',
    ],
    [
      'one that syncs',
      [west({ state: 'merkle-sync' })],
      'west: its state is merkle-sync, its connection ready',
    ],
    ['an operation', [east(), west({ operation: promotion })], 'west: promotion is under way (drain)'],
    [
      'a wrong tree',
      [east({ corrupted_merkle_tree: true }), west()],
      'east: its tree does not fit its items',
    ],
    ['no set', [seen('x', { mode: 'disabled' })], 'x: it is of no DR set'],
    ['one that is emptied', [seen('x', { mode: 'bootstrapping' })], 'x: it is becoming a secondary'],
    ['two primaries', [east(), { ...east(), name: 'north' }], 'east and north are primaries at once'],
    ['no primary', [west(), { ...west(), name: 'north' }], 'none of them is the primary'],
    ['two sets', [east(), west({ cluster_id: 'other' })], 'they are not of one set'],
  ])('%s is a fault', (_, clusters, fault) => {
    expect(judgeSet(clusters)).toEqual({ exit: 'unwell', faults: [fault] })
  })

  test('who is silent counts more than what others say, and its old word is not judged', () => {
    expect(judgeSet([silent(east({}, 503)), west(closed)])).toEqual({
      exit: 'unreachable',
      faults: ['east: https://x cannot be reached (ECONNREFUSED)', 'west: it follows nobody'],
    })
  })
})

describe('what status tells', () => {
  const shown = (...clusters: ClusterSeen[]) => shownSet(clusters, judgeSet(clusters), NOW)

  test('has each cluster’s own word, and the age of all that is not of now', () => {
    const [first, second] = shown(east(), west()).clusters
    expect(first).toMatchObject({ role: 'primary', serves: true, age_ms: 1000, position: 12, lag: null })
    expect(first?.peers).toMatchObject([{ name: 'west', connected: true, heard_age_ms: 5000 }])
    expect(second).toMatchObject({
      role: 'secondary',
      serves: false,
      position: 10,
      lag: 2,
      operation: null,
      readiness: { ready: true, age_ms: 30_000 },
    })
  })

  test('keeps the last word of who is silent, and says how old it is', () => {
    const old = silent({ ...east(), word: { ...(east().word as object), at: NOW - 90_000 } as never })
    expect(shown(old).clusters[0]).toMatchObject({ reachable: false, age_ms: 90_000, role: 'primary' })
    expect(describedSet(shown(old))).toMatch(/silent .*ECONNREFUSED\)\n {2}last word +90 s ago/)
    const { word: _, ...never } = old
    expect(shown(never).clusters[0]).toMatchObject({ reachable: false, age_ms: null, role: null })
    expect(describedSet(shown(never))).toMatch(/^east: cannot be reached\n/)
  })

  test('positions beside a primary that does not answer are not all that is missing', () => {
    const primaries = [{ ...following.primaries[0], last_position: 10, connection_status: 'disconnected' }]
    expect(describedSet(shown(west({ primaries })))).toContain(
      '10, 0 behind what its primary told; its primary does not answer, and what that committed since is missing too\n',
    )
  })

  test('reads well', () => {
    const text = describedSet(shown(east(), west({ operation: promotion })))
    expect(text).toContain('east: primary, running, serves\n')
    expect(text).toContain('  position   10, 2 behind what its primary told\n')
    expect(text).toContain('  operation  promotion, next step drain, since ')
    expect(text).toContain('  readiness  ready, tried 30 s ago\n')
    expect(text.trimEnd().split('\n').at(-1)).toBe('! west: promotion is under way (drain)')
    expect(describedSet(shown(east(), west())).trimEnd()).toMatch(/\nAll is well\.$/)
  })
})

describe('what a switch does next follows from what both say', () => {
  const next = (from: ClusterSeen, to: ClusterSeen) => nextOfSwitch({ from, to })
  const taken = { ssct_generation_counter: 2 }
  const rows: [what: string, from: ClusterSeen, to: ClusterSeen, expected: object][] = [
    ['nothing has been done', east(), west(), { do: 'promote', resumed: false }],
    ['the promotion runs', east(), west({ operation: promotion }), { do: 'promote', resumed: true }],
    [
      'it runs, and the other has closed',
      east(closed),
      west({ operation: promotion }),
      { do: 'promote', resumed: true },
    ],
    ['handed over, and not taken', east(closed), west(), { do: 'promote', resumed: true }],
    ['it has taken over', east({ ...closed }), seen('west', { ...taken, mode: 'primary' }), { do: 'follow' }],
    [
      'the other is told to follow',
      east({ ...closed, operation: { name: 'update-primary', step: 'ask' } }),
      seen('west', { ...taken, mode: 'primary' }),
      { do: 'wait' },
    ],
    [
      'the other catches up',
      east({ ...following, state: 'merkle-diff' }),
      seen('west', { ...taken, mode: 'primary' }),
      { do: 'wait' },
    ],
    ['the other follows', east(following), seen('west', { ...taken, mode: 'primary' }), { do: 'done' }],
    ['the other has not heard of it', east(), seen('west', { ...taken, mode: 'primary' }), { do: 'wait' }],
    [
      'both took over',
      east(taken),
      seen('west', { ...taken, mode: 'primary' }),
      { do: 'stop', exit: 'refused' },
    ],
    ['the other left the set', east({ mode: 'disabled' }), west(), { do: 'stop', exit: 'refused' }],
    ['of two sets', east(), west({ cluster_id: 'other' }), { do: 'stop', exit: 'refused' }],
    ['without a set', east({ cluster_id: '' }), west({ cluster_id: '' }), { do: 'stop', exit: 'refused' }],
    ['it syncs', east(), west({ state: 'merkle-sync' }), { do: 'stop', exit: 'refused' }],
    [
      'something else runs there',
      east(),
      west({ operation: { name: 'reindex' } }),
      { do: 'stop', exit: 'refused' },
    ],
    [
      'something runs here',
      east({ operation: { name: 'demotion' } }),
      west(),
      { do: 'stop', exit: 'refused' },
    ],
    ['a third is the primary', east(following), west(), { do: 'stop', exit: 'refused' }],
    ['it is emptied', east(), west({ mode: 'bootstrapping' }), { do: 'stop', exit: 'refused' }],
    ['the primary is silent', silent(east()), west(), { do: 'stop', exit: 'unreachable' }],
    ['the secondary is silent', east(), silent(west()), { do: 'stop', exit: 'unreachable' }],
  ]
  test.each(rows)('%s', (_, from, to, expected) => expect(next(from, to)).toMatchObject(expected))

  test('each place that a set may be in has a sentence', () => {
    for (const [, from, to] of rows) expect(next(from, to).where).toMatch(/^[A-Zew].*\.$/)
  })

  test('where the primary is silent the way of a disaster is named; where the successor serves, it is not', () => {
    expect(next(silent(east()), west())).toMatchObject({ why: expect.stringContaining('disaster.md') })
    expect(next(silent(east()), seen('west', { mode: 'primary' }))).toMatchObject({
      why: expect.not.stringContaining('disaster.md'),
      where: 'west serves.',
    })
  })
})

test.each<[known: string[], id: string, freed: string[]]>([
  [[], 'east', []],
  [['north'], 'east', []],
  [['east'], 'east-2', ['east']],
  [['east', 'east-2', 'east-7', 'eastern', 'east-x', 'east-02'], 'east-8', ['east', 'east-2', 'east-7']],
  [['east-3'], 'east-4', ['east-3']],
])('with %j known, a cluster east is admitted as %s', (known, id, freed) => {
  expect(namesToJoin('east', known)).toEqual({ id, freed })
})

test.each([
  ['https://auth.example.com', { name: 'auth.example.com', base: 'https://auth.example.com/v1' }],
  ['west=http://127.0.0.1:8201/v1', { name: 'west', base: 'http://127.0.0.1:8201/v1' }],
])('%s names a cluster', (text, named) => expect(clusterNamed(text)).toEqual(named))

test('what is neither an address nor a file that tells one is refused', () => {
  for (const text of ['auth.example.com', new URL(import.meta.url).pathname])
    expect(() => clusterNamed(text)).toThrow(/neither an address/)
})

describe('an odd answer to the question for the status', () => {
  const looked = async (status: string, health = '{"cluster_name":"east"}') => {
    const { url } = await webServer(onTestFinished, ({ url: path }, response) =>
      response.end(path?.endsWith('status') ? status : health),
    )
    return lookAtCluster({ name: 'east', base: url }, { timeoutMs: 5000 })
  }

  test.each([
    ['null', 'the answer is no status'],
    ['[]', 'the answer is no status'],
    ['<html>', 'the answer is no status'],
    ['{"data":[]}', 'the answer is no status'],
    ['{"data":{"mode":{"toString":1}}}', 'mode has an odd value'],
    ['{"data":{"mode":"primary","secondaries":7}}', 'secondaries has an odd value'],
    ['{"data":{"mode":"primary","secondaries":[null]}}', 'secondaries has an odd value'],
    [
      '{"data":{"mode":"secondary","known_primary_cluster_addrs":"x"}}',
      'known_primary_cluster_addrs has an odd value',
    ],
    [
      '{"data":{"mode":"secondary","readiness":{"refused_by":null,"ready":"no"}}}',
      'readiness has an odd value',
    ],
    ['{"data":{"mode":"primary","last_dr_wal":null}}', 'last_dr_wal has an odd value'],
  ])('%s is silence, with a reason', async (status, fault) => {
    const seen = await looked(status)
    expect(seen.silent).toContain(fault)
    expect(describedSet(shownSet([seen], judgeSet([seen]), NOW))).toContain(fault)
  })

  test.each([
    '{"data":{"mode":"primary","state":"\\u001b[2J","secondaries":[{"node_id":"\\nAll is well.","connection_status":{}}]}}',
    '{"data":{"mode":"secondary","operation":{"name":{"toString":1}},"last_error":{"text":"\\u202e"},"readiness":{}}}',
    '{"data":{"mode":"odd\\u009b2J","cluster_id":""}}',
  ])('%s is shown without what a terminal obeys, a line for each thing', async status => {
    const seen = await looked(status, '{"cluster_name":{"toString":1}}')
    const text = describedSet(shownSet([seen], judgeSet([seen]), NOW))
    expect(text).toMatch(/^[\x20-\x7e\n]*$/)
    expect(text.split('\n')).not.toContain('All is well.')
  })
})
