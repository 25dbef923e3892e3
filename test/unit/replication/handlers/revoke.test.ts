import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import { revokeRequestedCluster, revokeSecondary } from '../../../../shared/replication/handlers/revoke.ts'
import type { Change } from '../../../../shared/storage/changes.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { clusterRecord, secondaryItem as secondary } from '../../../builders/cluster-record.ts'
import { callWith } from '../../../support/requests/call.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const NOW = 1_700_000_000_500
const CLUSTER = '11111111-2222-3333-4444-555555555555'
const EPOCH = '000001.c'

const record = clusterRecord({ id: 'c-1', name: 'east', set: 'set-1', epoch: EPOCH })

interface World {
  items?: Item[]
  verdicts?: ('done' | 'conflict')[]
}

const OTHER = '66666666-7777-8888-9999-aaaaaaaaaaaa'
const THIRD = 'bbbbbbbb-cccc-dddd-eeee-ffffffffffff'

/** Makes a key term whose signers have been primaries: cluster IDs and their names. */
const signedBy = (...signers: [cluster: string, name: string][]): Item =>
  item(
    key('term', 't-1'),
    {
      number: 1,
      since: 0,
      probe: 'p' as EncryptedText,
      signers: signers.map(([cluster, name]) => ({ cluster, name, key: 'k' })),
    },
    'r',
  )
const holder = (cluster: string, name: string, revokedAt?: number): Item =>
  item(
    key('holder', cluster),
    { name, at: 1, ...(revokedAt === undefined ? {} : { revoked: { at: revokedAt, epoch: EPOCH } }) },
    'r',
  )
const met = (cluster: string): Item =>
  item(key('member', cluster), { statements: [], addresses: ['https://met'] }, 'r')

/** Revokes the secondary `id`. Returns the answer, further audit entries, and the commits. */
function revoking(
  id: string,
  { items = [], verdicts = [] }: World,
  more: object = {},
  parts: Partial<ClusterRecord> = {},
) {
  const notes: unknown[] = []
  const { as, commits } = memoryStore(items, { verdicts })
  const call = callWith({
    parameters: { id, ...more },
    now: NOW,
    cluster: { record: { ...record, ...parts }, readAt: NOW },
    request: { id: 'r-1', path: 'sys/replication/dr/primary/revoke-secondary' },
    ports: {
      store: as('replication'),
      clock: { now: () => NOW, sleep: async () => undefined },
      audit: { write: async (entry: unknown) => void notes.push(entry) },
    },
  })
  const done = async () =>
    revokeSecondary(call as Call<never>, await revokeRequestedCluster(call as Call<never>))
  return { done, notes, commits }
}

test('a revocation is stored as a replicated item, and logged once per request with id and epoch', async () => {
  const items = [secondary({ id: 'a', cluster: CLUSTER })]
  const { done, notes, commits } = revoking('a', { items, verdicts: ['conflict', 'conflict'] })
  expect(await done()).toEqual({
    answer: { kind: 'nothing', warnings: [expect.stringContaining('POST sys/rotate with retire=true')] },
  })
  expect(commits).toEqual([
    [
      expect.objectContaining({
        kind: 'put',
        key: expect.objectContaining(key('secondary', 'a')),
        data: expect.objectContaining({ id: 'a', revokedAt: NOW }),
        expected: { rev: 'r' },
      }),
      expect.objectContaining({
        kind: 'put',
        key: key('holder', CLUSTER),
        data: { name: 'a', at: NOW, revoked: { at: NOW, epoch: EPOCH } },
        expected: 'absent',
      }),
    ],
  ])
  expect(notes).toEqual([
    {
      audit: 'replication',
      time: '2023-11-14T22:13:20.5Z',
      event: 'revocation',
      operation: 'r-1',
      cluster: 'c-1',
      set: 'set-1',
      epoch: EPOCH,
      id: 'a',
      secondary: CLUSTER,
    },
  ])
})

test('a repeated name revokes the same cluster again, and keeps the known facts', async () => {
  const data = { name: 'a', at: 1, terms: ['t'] }
  const before = { ...key('holder', CLUSTER), rev: 'q', data } as Item
  const { done, commits } = revoking(CLUSTER, { items: [before] })
  await done()
  expect(commits[0]?.[0]).toMatchObject({
    kind: 'put',
    key: key('holder', CLUSTER),
    expected: { rev: 'q' },
    data: { ...data, revoked: { at: NOW, epoch: EPOCH } },
  })
})

/** Returns the IDs and names that a revocation has stored. */
const revokedIn = (commits: readonly (readonly Change[])[]): string[] =>
  commits.flat().flatMap(change => (change.kind === 'put' ? [`${change.key.kind} ${change.key.sk}`] : []))

describe('a cluster is found by', () => {
  test.each<[string, id: string, items: Item[], more: object, written: string[]]>([
    [
      'its own name if it was primary, without an admission here',
      'north',
      [signedBy([OTHER, 'north'])],
      {},
      [`holder ${OTHER}`],
    ],
    ['its id', OTHER, [signedBy([OTHER, 'north'])], {}, [`holder ${OTHER}`]],
    ['its id in capitals', OTHER.toUpperCase(), [signedBy([OTHER, 'north'])], {}, [`holder ${OTHER}`]],
    ['the id of one that is known only by its address', OTHER, [met(OTHER)], {}, [`holder ${OTHER}`]],
    ['an unknown id, with force', OTHER.toUpperCase(), [], { force: true }, [`holder ${OTHER}`]],
    [
      'the name under which another primary admitted it',
      'north',
      [holder(OTHER, 'north')],
      {},
      [`holder ${OTHER}`],
    ],
    [
      'its name, although another cluster of that name was revoked before',
      'a',
      [secondary({ id: 'a', cluster: CLUSTER }), holder(OTHER, 'a', 5)],
      {},
      ['secondary a', `holder ${CLUSTER}`],
    ],
    [
      'its name, which is also the name of its admission',
      'a',
      [secondary({ id: 'a', cluster: OTHER }), signedBy([OTHER, 'a'])],
      {},
      ['secondary a', `holder ${OTHER}`],
    ],
  ])('%s', async (_, id, items, more, written) => {
    const { done, commits } = revoking(id, { items }, more)
    expect((await done()).answer).toMatchObject({ kind: 'nothing' })
    expect(revokedIn(commits)).toEqual(written)
  })
})

describe('nothing is revoked or retired', () => {
  const two = (what: string) => [`id: "a" denotes ${what}; nothing was revoked; give the UUID`]
  test.each<[string, id: string, items: Item[], texts: string[]]>([
    [
      'by an unknown name',
      'b',
      [secondary({ id: 'a' })],
      [
        '("b"); nothing was revoked; these clusters hold keys: none; to revoke a cluster that this cluster does not know',
      ],
    ],
    [
      'by a misspelt name; the error lists the clusters that hold keys, without revoked ones',
      'wset',
      [signedBy([OTHER, 'north'], ['c-1', 'east']), holder(CLUSTER, 'a'), holder(THIRD, 'gone', 5)],
      [
        `these clusters hold keys: a (${CLUSTER}), north (${OTHER}); to revoke a cluster that this cluster does not know`,
      ],
    ],
    [
      'by an unknown id',
      OTHER,
      [secondary({ id: 'a', cluster: CLUSTER })],
      [`("${OTHER}"); nothing was revoked`],
    ],
    ['by the name of this cluster', 'east', [], ['id: "east" is this cluster itself; nothing was revoked']],
    ['by the name in capitals', 'A', [secondary({ id: 'a' })], ['nothing was revoked']],
    [
      'by a name of an admission and of another cluster',
      'a',
      [secondary({ id: 'a', cluster: CLUSTER }), signedBy([OTHER, 'a'])],
      two(`${CLUSTER} (admitted under that name), ${OTHER} (the cluster with that name or id)`),
    ],
    [
      'by a name of a revoked admission and of another cluster',
      'a',
      [secondary({ id: 'a', cluster: CLUSTER, revokedAt: 5 }), signedBy([OTHER, 'a'])],
      two(`${CLUSTER} (admitted under that name), ${OTHER} (the cluster with that name or id)`),
    ],
    [
      'by the name of a revoked token and of a cluster',
      'a',
      [secondary({ id: 'a', revokedAt: 5 }), signedBy([OTHER, 'a'])],
      two(`an activation token that no cluster has used, ${OTHER} (the cluster with that name or id)`),
    ],
    [
      'by a name that two clusters have',
      'a',
      [signedBy([OTHER, 'a'], [CLUSTER, 'a'])],
      two(`${OTHER} (the cluster with that name or id), ${CLUSTER} (the cluster with that name or id)`),
    ],
  ])('%s', async (_, id, items, texts) => {
    const { done, notes, commits } = revoking(id, { items }, { retire: true })
    const refusal: { code: string; message: string } = await done().catch(error => error)
    expect(refusal.code).toBe('invalid_request')
    for (const text of texts) expect(refusal.message).toContain(text)
    expect([notes, commits]).toEqual([[], []])
  })

  test('revoking the id of this cluster, in any letter case, is refused', async () => {
    const own = CLUSTER.toUpperCase()
    const { done, commits } = revoking(own, {}, {}, { id: CLUSTER })
    await expect(done()).rejects.toThrow(`id: "${own}" is this cluster itself`)
    expect(commits).toEqual([])
  })
})

test('revoking an unused token does not revoke the cluster of the same name, and warns of it', async () => {
  const items = [secondary({ id: 'a' }), signedBy([OTHER, 'a'])]
  const { done, commits } = revoking('a', { items })
  expect((await done()).answer.warnings).toEqual([
    `only an unused activation token was revoked; the cluster ${OTHER}, which is also named a, is not revoked: to revoke that cluster, give its id`,
  ])
  expect(revokedIn(commits)).toEqual(['secondary a'])
})

test('revoking an unused token without a namesake gives no warning', async () => {
  expect(await revoking('a', { items: [secondary({ id: 'a' })] }).done()).toEqual({
    answer: { kind: 'nothing' },
  })
})

test.each<[string, id: string, items: Item[]]>([
  [
    'by the name',
    'a',
    [secondary({ id: 'a', cluster: CLUSTER, revokedAt: 5000 }), holder(CLUSTER, 'a', 5000)],
  ],
  [
    'by the id',
    CLUSTER,
    [secondary({ id: 'a', cluster: CLUSTER, revokedAt: 5000 }), holder(CLUSTER, 'a', 5000)],
  ],
  ['by a former primary’s own name', 'a', [signedBy([CLUSTER, 'a']), holder(CLUSTER, '', 5000)]],
])(
  'a repeated revocation %s changes nothing, and returns the time of the first one',
  async (_, id, items) => {
    const { done, notes, commits } = revoking(id, { items })
    const { warnings } = (await done()).answer
    expect(warnings?.[0]).toBe(
      `${id} was already revoked at 1970-01-01T00:00:05Z; that revocation stays in force`,
    )
    expect([notes, commits]).toEqual([[], []])
  },
)

test('a revocation is refused as busy if its items keep changing', async () => {
  const verdicts = Array.from({ length: 9 }, () => 'conflict' as const)
  const { done } = revoking('a', { verdicts, items: [secondary({ id: 'a' })] })
  await expect(done()).rejects.toMatchObject({ code: 'busy' })
})
