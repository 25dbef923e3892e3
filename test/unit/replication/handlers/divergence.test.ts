import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import type { DifferenceReport } from '../../../../shared/model/secondary.ts'
import { describeItemForOperator } from '../../../../shared/replication/handlers/describe-item.ts'
import {
  describeMissingInput,
  showDivergingItems,
} from '../../../../shared/replication/handlers/divergence.ts'
import { shortKeyName } from '../../../../shared/replication/secondary/diverging.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { callWith } from '../../../support/requests/call.ts'
import { item } from '../../../support/tables/items.ts'

const EPOCH = '000001.0123456789ab'
const pos = (seq: number) => `${EPOCH}/${String(seq).padStart(12, '0')}`
const entry = (
  seq: number,
  parts: Partial<DifferenceReport['entries'][number]> = {},
): DifferenceReport['entries'][number] => ({
  pos: pos(seq),
  id: `commit ${seq}`,
  at: seq * 1000,
  changes: [{ kind: 'policy', pk: 'policy', sk: `p${seq}`, item: { text: 'sealed' } }],
  ...parts,
})
const part = (name: string, entries: DifferenceReport['entries']): Item<'report'> =>
  item(key('report', name), { at: 0, epoch: '000002.ba9876543210', forkPoint: 3, entries, keys: [] }, 'r')

/** Returns a store that lists the parts of a report. */
function storeOf(parts: readonly Item<'report'>[]) {
  const list = async (_: unknown, { after = '', limit = 0 }: { after?: string; limit?: number }) =>
    parts.filter(({ sk }) => sk > after).slice(0, limit)
  const read = async (places: { kind: string; sk: string }[]) =>
    places.map(({ kind, sk }) => parts.find(one => one.kind === kind && one.sk === sk))
  return { list, read }
}

const DISABLED = { mode: 'disabled' as const, treeId: 'l', link: { name: 'n' } }

const answered = async (
  parts: readonly Item<'report'>[],
  given: object = {},
  { diverging, record = DISABLED, head }: { diverging?: object; record?: object; head?: object } = {},
) => {
  const call = callWith({
    parameters: given,
    cluster: { record, readAt: 0 },
    fetched: { get: ({ kind }: { kind: string }) => (kind === 'diverging' ? diverging : undefined) },
    ports: { store: storeOf(parts), journalView: { readStatus: async () => ({ head, items: [] }) } },
  })
  const { answer } = await showDivergingItems(call as Call<never>)
  return answer as unknown as {
    retryAfter?: number
    data: {
      complete: boolean
      waits_for: string
      lost: { name: string; position: string }[]
      next: string
      counts?: object
      diverging: object[]
    }
  }
}
const shown = async (...given: Parameters<typeof answered>) => (await answered(...given)).data

const NONE = { complete: true, waits_for: '', lost: [], next: '', diverging: [] }

describe('commits that a fail-over has lost', () => {
  test('lost commits are listed by commit and key: written, deleted, and too large to keep', async () => {
    const parts = [
      part('000000003.abc/0000-1', [
        entry(4),
        entry(5, { changes: [{ kind: 'policy', pk: 'policy', sk: 'gone' }] }),
        entry(6, { withoutItems: true, changes: [{ kind: 'policy', pk: 'policy', sk: 'large' }] }),
      ]),
    ]
    expect(await shown(parts)).toEqual({
      ...NONE,
      counts: { commits: 3, kinds: { policy: { written: 2, deleted: 1 } } },
      lost: [
        {
          name: '000000003.abc/0000-1#000000',
          position: pos(4),
          commit: 'commit 4',
          time: '1970-01-01T00:00:04Z',
          cut: 3,
          epoch: '000002.ba9876543210',
          changes: [{ kind: 'policy', key: ['policy', 'p4'], what: 'policy p4', item: { text: 'sealed' } }],
        },
        expect.objectContaining({
          changes: [{ kind: 'policy', key: ['policy', 'gone'], what: 'policy gone', deleted: true }],
        }),
        expect.objectContaining({
          too_large: true,
          changes: [{ kind: 'policy', key: ['policy', 'large'], what: 'policy large' }],
        }),
      ],
    })
  })

  test('commits lost in a sync that began twice are listed once', async () => {
    const parts = [
      part('000000003.abc/0000-1', [entry(4)]),
      part('000000003.bcd/0000-1', [entry(4), entry(5)]),
    ]
    expect((await shown(parts)).lost.map(one => one.position)).toEqual([pos(4), pos(5)])
  })

  test.each([1, 2, 3, 7, 100])('lost commits come in pages of %i, each commit exactly once', async limit => {
    const parts = Array.from({ length: 20 }, (_, index) =>
      part(
        `00000000${3 + Math.floor(index / 10)}.abc/${String(index % 10).padStart(4, '0')}-10`,
        Array.from({ length: index % 4 }, (__, at) => entry(1 + index * 10 + at)),
      ),
    )
    const found: string[] = []
    for (let after = ''; ; ) {
      const { lost, next } = await shown(parts, { limit, after })
      expect(lost.length).toBeLessThanOrEqual(limit)
      found.push(...lost.map(one => one.position))
      if (next === '') break
      after = next
    }
    expect(found).toEqual(parts.flatMap(({ data }) => data.entries.map(one => one.pos)))
  })

  test('lost commits are counted by kind over all reports in the first page only, whatever its size', async () => {
    const child = { kind: 'child', pk: 'token#a', sk: 'b', item: {} }
    const parts = [
      part('000000003.abc/0000-1', [entry(4), entry(5, { changes: [child] })]),
      part('000000004.abc/0000-1', [
        entry(4),
        entry(7),
        entry(8, { changes: [{ ...child, item: undefined }] }),
      ]),
    ]
    const { lost, next, counts } = await shown(parts, { limit: 1 })
    expect([lost.length, next]).toEqual([1, lost[0]?.name])
    expect(counts).toEqual({
      commits: 4,
      kinds: { policy: { written: 2, deleted: 0 }, child: { written: 1, deleted: 1 } },
    })
    expect(await shown(parts, { limit: 1, after: next })).not.toHaveProperty('counts')
  })

  test('a cluster that has never lost a commit lists no commits, after every name', async () => {
    expect(await shown([])).toEqual({ ...NONE, counts: { commits: 0, kinds: {} } })
    expect(await shown([part('000000003.abc/0000-1', [entry(4)])], { after: 'zzz' })).toEqual(NONE)
  })
})

describe('completeness of the loss report', () => {
  const link = {
    name: 'n',
    secondaryId: 'west',
    primaryAddr: 'https://a',
    primaryAddrs: [],
    primaryKey: 'k',
    ownKey: '',
  }
  const follows = { mode: 'secondary', link } as never
  const head = (mode: string, by = 'n') => ({ mode, link: by }) as never

  test.each<[when: string, record: never, head: never, waitsFor: RegExp | '']>([
    ['is complete without replication', { mode: 'disabled' } as never, undefined as never, ''],
    ['is complete on a writing primary', { mode: 'primary' } as never, head('writing', ''), ''],
    ['is complete on a secondary that applies entries of its current link', follows, head('applying'), ''],
    [
      'is incomplete before the journals are compared',
      follows,
      head('closed', ''),
      /^the journal of the primary/,
    ],
    ['is incomplete while the old link is stopped', follows, head('draining'), /^the journal of the primary/],
    [
      'is incomplete while it follows by an old link',
      follows,
      head('applying', 'old'),
      /^the journal of the primary/,
    ],
    ['is incomplete during a sync', follows, head('syncing'), /^the end of the running sync/],
    [
      'is incomplete on a secondary that follows nobody',
      { mode: 'secondary' } as never,
      head('closed'),
      /update-primary/,
    ],
    [
      'is incomplete while a primary steps down',
      { mode: 'primary' } as never,
      head('closed', ''),
      /role change/,
    ],
    [
      'is incomplete during an operation',
      { ...(follows as object), operation: 'x' } as never,
      head('applying'),
      /^an operation/,
    ],
  ])('%s', async (_, record, at, expected) => {
    expect(describeMissingInput(record, at)).toMatch(expected === '' ? /^$/ : expected)
    const { data, retryAfter } = await answered([], {}, { record, head: at })
    expect([data.complete, retryAfter]).toEqual(expected === '' ? [true, undefined] : [false, 2])
  })

  test('the head is read before the reports, so a report stored in between is never missing from a complete answer', async () => {
    const order: string[] = []
    const noted = (name: string, value: unknown) => async () => {
      order.push(name)
      return value
    }
    const call = callWith({
      cluster: { record: DISABLED, readAt: 0 },
      ports: {
        store: { list: noted('list', []) },
        journalView: { readStatus: noted('readStatus', { items: [] }) },
      },
    })
    await showDivergingItems(call as Call<never>)
    expect(order).toEqual(['readStatus', 'list'])
  })
})

describe('descriptions of items', () => {
  const mounts = [{ accessor: 'acc', path: 'cloud' }]
  const tag = 'v1:AAAAAAAAAAA=:r=web:d=false:m=false'
  const login = { login: { role: 'web' }, hash: 'hash-of-a-token' }

  test.each<[kind: string, pk: string, sk: string, item: object | undefined, words: string]>([
    ['token', 'token#a1', 'token', { data: login }, 'token of role web, accessor a1'],
    ['token', 'token#a1', 'token', { data: { role: 'ci' } }, 'token of token role ci, accessor a1'],
    ['token', 'token#a1', 'token', { data: { policies: ['root'] } }, 'root token, accessor a1'],
    ['token', 'token#a1', 'token', undefined, 'token, accessor a1'],
    ['access', 'acc#access#f', 'i-01', {}, 'access-list entry of instance i-01 at auth/cloud'],
    ['deny', 'acc#deny#3', `${tag}:signature`, {}, `denial of the role tag ${tag} at auth/cloud`],
    ['role', 'acc#role', 'web', {}, 'role web of auth/cloud'],
    ['role', 'gone#role', 'web', undefined, 'role web of a mount that does not exist (gone)'],
    ['sts-role', 'acc#sts', '111122223333', {}, 'STS role for account 111122223333 of auth/cloud'],
    ['policy', 'policy', 'reader', {}, 'policy reader'],
    ['of-a-later-version', 'x', 'y', {}, 'of-a-later-version y'],
  ])('%s %s %s', (kind, pk, sk, item, expected) => {
    expect(describeItemForOperator({ kind, pk, sk }, mounts, item)).toBe(expected)
  })
})

describe('items that keep differing from the primary’s', () => {
  const keys = [
    { kind: 'policy', pk: 'policy', sk: 'x', rounds: 4, at: 5000 },
    { kind: 'policy', pk: 'policy', sk: 'y', rounds: 2, at: 6000 },
  ]
  const found = (link: string) => ({ ...key('diverging'), data: { treeId: 'l', link, keys } })

  test('diverging items are listed with rounds, given_up and the short name that status shows', async () => {
    const { diverging } = await shown([], {}, { diverging: found('n') })
    const [x] = keys
    expect(diverging).toEqual([
      {
        kind: 'policy',
        key: ['policy', 'x'],
        what: 'policy x',
        rounds: 4,
        given_up: true,
        last_found: '1970-01-01T00:00:05Z',
        name: x && shortKeyName(x),
      },
      expect.objectContaining({ key: ['policy', 'y'], given_up: false }),
    ])
  })

  test('diverging items of another primary are not listed', async () => {
    expect((await shown([], {}, { diverging: found('other') })).diverging).toEqual([])
  })
})
