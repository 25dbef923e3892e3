import { describe, expect, onTestFinished, test } from 'vitest'
import { observeNamedCluster, parseNamedCluster } from '../../../../infra/command/set/look.ts'
import { formatSet, summariseSet } from '../../../../infra/command/set/shown.ts'
import type { ObservedCluster } from '../../../../shared/set/status.ts'
import { silent } from '../../../builders/cluster-seen.ts'
import {
  changing,
  east,
  eastClosed,
  followerOf,
  inNoSet,
  PAIR_SEEN_AT,
  promotion,
  west,
  westPromoted,
} from '../../../builders/pair-seen.ts'
import { webServer } from '../../../support/service/server.ts'

const shown = (...clusters: ObservedCluster[]) =>
  summariseSet(
    clusters,
    clusters.map(({ name }) => ({ name, base: `https://${name}/v1` })),
    PAIR_SEEN_AT,
  )

describe('the verdict on a set', () => {
  test.each<[string, Promise<ObservedCluster>[], object]>([
    [
      'a primary that serves and a secondary that follows',
      [east(), west()],
      { verdict: 'done', faults: [], headline: 'east serves, and west is its secondary.' },
    ],
    [
      'a secondary alone',
      [west()],
      { verdict: 'done', faults: [], headline: expect.stringMatching(/^No other cluster is named/) },
    ],
    ['work on the tree', [east({ operation: changing('merkle-check') }), west()], { verdict: 'done' }],
    ['a promotion', [east(), west({ operation: promotion })], { verdict: 'unwell' }],
    ['one that follows nobody', [eastClosed(), westPromoted()], { verdict: 'unwell' }],
    ['a single cluster', [inNoSet('east')], { verdict: 'done', faults: [] }],
    ['two clusters in no set', [inNoSet('east'), inNoSet('west')], { verdict: 'unwell' }],
    [
      'one that is silent, whatever its last word was',
      [east().then(one => silent(one, 'no route')), west()],
      { verdict: 'unreachable', faults: expect.arrayContaining([expect.stringContaining('no route')]) },
    ],
  ])('%s', async (_, clusters, expected) => {
    expect(shown(...(await Promise.all(clusters)))).toMatchObject(expected)
  })
})

describe('the output of the command status', () => {
  test('the output contains each cluster’s own answer, and the age of older facts', async () => {
    const [first, second] = shown(await east(), await west()).clusters
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

  test('the output keeps the last answer of a silent cluster, with its age', async () => {
    const seen = await east()
    const word = seen.answer && { ...seen.answer, at: PAIR_SEEN_AT - 90_000 }
    const old = silent(
      { ...seen, ...(word && { answer: word }) },
      'https://x cannot be reached (ECONNREFUSED)',
    )
    expect(shown(old).clusters[0]).toMatchObject({ reachable: false, age_ms: 90_000, role: 'primary' })
    expect(formatSet(shown(old))).toMatch(/silent .*ECONNREFUSED\)\n {2}last seen +90 s ago/)
    const { answer: _, ...never } = old
    expect(shown(never).clusters[0]).toMatchObject({ reachable: false, age_ms: null, role: null })
    expect(formatSet(shown(never))).toMatch(/^east: cannot be reached\n/)
  })

  test('if the primary does not answer, the output says that later commits are missing too', async () => {
    const primaries = [
      { ...followerOf('east', 'west').primaries[0], last_position: 10, connection_status: 'disconnected' },
    ]
    expect(formatSet(shown(await west({ primaries })))).toContain(
      '10, 0 commits behind its primary’s last report; the primary does not answer, so this cluster lacks any later commits too\n',
    )
  })

  test('without --json the output is readable text', async () => {
    const text = formatSet(shown(await east(), await west({ operation: promotion })))
    expect(text).toContain('east: primary, running, serves\n')
    expect(text).toContain('  position   10, 2 commits behind its primary’s last report\n')
    expect(text).toContain('  operation  promotion, next step drain, since ')
    expect(text).toContain('  readiness  ready, tried 30 s ago\n')
    expect(text).toMatch(
      /\nwest is taking over from east\. .*\n! west: The operation promotion is running, at the step drain\..*\n/,
    )
    expect(formatSet(shown(await east(), await west())).trimEnd()).toMatch(
      /\neast serves, and west is its secondary\.\nAll is well\.$/,
    )
  })
})

test.each([
  ['https://auth.example.com', { name: 'auth.example.com', base: 'https://auth.example.com/v1' }],
  ['west=http://127.0.0.1:8201/v1', { name: 'west', base: 'http://127.0.0.1:8201/v1' }],
])('%s is accepted as the name of a cluster', (text, named) => expect(parseNamedCluster(text)).toEqual(named))

test('a name that is neither an address nor a cluster.json is rejected', () => {
  for (const text of ['auth.example.com', new URL(import.meta.url).pathname])
    expect(() => parseNamedCluster(text)).toThrow(/must be the address of a cluster/)
})

describe('a malformed status answer', () => {
  const looked = async (status: string, health = '{"cluster_name":"east"}') => {
    const { url } = await webServer(onTestFinished, ({ url: path }, response) =>
      response.end(path?.endsWith('status') ? status : health),
    )
    return observeNamedCluster({ name: 'east', base: url }, { timeoutMs: 5000 })
  }

  test.each([
    ['null', 'the answer is not a status'],
    ['[]', 'the answer is not a status'],
    ['<html>', 'the answer is not a status'],
    ['{"data":[]}', 'the answer is not a status'],
    ['{"data":{"mode":{"toString":1}}}', 'mode is not a text'],
  ])('a status with %s makes its cluster silent, with a reason', async (status, fault) => {
    const seen = await looked(status)
    expect(seen.silent?.why).toContain(fault)
    expect(formatSet(shown(seen))).toContain(fault)
  })

  test.each([
    ['{"data":{"mode":"primary","secondaries":7}}', 'secondaries is odd'],
    ['{"data":{"mode":"primary","secondaries":[null]}}', 'secondaries[0] is odd'],
    ['{"data":{"mode":"secondary","known_primary_cluster_addrs":"x"}}', 'known_primary_cluster_addrs is odd'],
    ['{"data":{"mode":"secondary","readiness":{"ready":"no"}}}', 'readiness.ready is odd'],
    ['{"data":{"mode":"primary","last_dr_wal":null}}', 'last_dr_wal is odd'],
  ])('a status with %s is shown without the malformed field, which is named', async (status, oddity) => {
    const seen = await looked(status)
    expect(seen.silent).toBeUndefined()
    expect(shown(seen).clusters[0]?.left_out).toContain(oddity)
    expect(formatSet(shown(seen))).toContain(oddity)
  })

  test.each([
    '{"data":{"mode":"primary","state":"\\u001b[2J","secondaries":[{"node_id":"\\nAll is well.","connection_status":{}}]}}',
    '{"data":{"mode":"secondary","operation":{"name":{"toString":1}},"last_error":{"text":"\\u202e"},"readiness":{}}}',
    '{"data":{"mode":"odd\\u009b2J","cluster_id":"","\\u001b[2J":1}}',
  ])('a status with %s is shown escaped, one line per fact', async status => {
    const seen = await looked(status, '{"cluster_name":{"toString":1}}')
    const text = formatSet(shown(seen))
    expect(text).toMatch(/^[\x20-\x7e\n]*$/)
    expect(text.split('\n')).not.toContain('All is well.')
  })
})
