import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import type { Report } from '../../../../shared/model/secondary.ts'
import { showDivergence } from '../../../../shared/replication/manage/divergence.ts'
import { tagOf } from '../../../../shared/replication/secondary/diverging.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { callWith } from '../../support/call.ts'

const EPOCH = '000001.0123456789ab'
const pos = (seq: number) => `${EPOCH}/${String(seq).padStart(12, '0')}`
const cell = (seq: number, parts: Partial<Report['cells'][number]> = {}): Report['cells'][number] => ({
  ...{ pos: pos(seq), id: `commit ${seq}`, at: seq * 1000 },
  changes: [{ kind: 'policy', pk: 'policy', sk: `p${seq}`, item: { text: 'sealed' } }],
  ...parts,
})
const part = (name: string, cells: Report['cells']): Item<'report'> => ({
  ...key('report', name),
  rev: 'r',
  data: { at: 0, epoch: '000002.ba9876543210', cut: 3, cells, keys: [] },
})

/** Parts of reports, as the store lists them. */
function storeOf(parts: readonly Item<'report'>[], others: readonly object[] = []) {
  const list = async (_: unknown, { after = '', limit = 0 }: { after?: string; limit?: number }) =>
    parts.filter(({ sk }) => sk > after).slice(0, limit)
  const all = [...parts, ...others] as { kind: string; sk: string }[]
  const read = async (places: { kind: string; sk: string }[]) =>
    places.map(({ kind, sk }) => all.find(one => one.kind === kind && one.sk === sk))
  return { list, read }
}

const shown = async (
  parts: readonly Item<'report'>[],
  given: object = {},
  others: readonly object[] = [],
) => {
  const { answer } = await showDivergence(
    callWith({ given, ports: { store: storeOf(parts, others) } }) as Call<never>,
  )
  return (
    answer as unknown as {
      data: { lost: { name: string; position: string }[]; next: string; diverging: object[] }
    }
  ).data
}

describe('what a fail-over has lost', () => {
  test('is told by commit and key: what was written, what was deleted, and what was too large to keep', async () => {
    const parts = [
      part('000000003.abc/0000-1', [
        cell(4),
        cell(5, { changes: [{ kind: 'policy', pk: 'policy', sk: 'gone' }] }),
        cell(6, { bare: true, changes: [{ kind: 'policy', pk: 'policy', sk: 'large' }] }),
      ]),
    ]
    expect(await shown(parts)).toEqual({
      next: '',
      diverging: [],
      lost: [
        {
          ...{ name: '000000003.abc/0000-1#000000', position: pos(4), commit: 'commit 4' },
          ...{ time: '1970-01-01T00:00:04Z', cut: 3, epoch: '000002.ba9876543210' },
          changes: [{ kind: 'policy', key: ['policy', 'p4'], item: { text: 'sealed' } }],
        },
        expect.objectContaining({
          changes: [{ kind: 'policy', key: ['policy', 'gone'], deleted: true }],
        }),
        expect.objectContaining({
          too_large: true,
          changes: [{ kind: 'policy', key: ['policy', 'large'] }],
        }),
      ],
    })
  })

  test('of a sync that was begun twice is told once', async () => {
    const parts = [part('000000003.abc/0000-1', [cell(4)]), part('000000003.bcd/0000-1', [cell(4), cell(5)])]
    expect((await shown(parts)).lost.map(one => one.position)).toEqual([pos(4), pos(5)])
  })

  test.each([1, 2, 3, 7, 100])('comes in pages of %i, none twice and none left out', async limit => {
    const parts = Array.from({ length: 20 }, (_, index) =>
      part(
        `00000000${3 + Math.floor(index / 10)}.abc/${String(index % 10).padStart(4, '0')}-10`,
        Array.from({ length: index % 4 }, (__, at) => cell(1 + index * 10 + at)),
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
    expect(found).toEqual(parts.flatMap(({ data }) => data.cells.map(one => one.pos)))
  })

  test('is nothing on a cluster that has never lost anything, and behind every name', async () => {
    expect(await shown([])).toEqual({ lost: [], next: '', diverging: [] })
    expect(await shown([part('000000003.abc/0000-1', [cell(4)])], { after: 'zzz' })).toEqual({
      lost: [],
      next: '',
      diverging: [],
    })
  })
})

describe('what does not stay in line with the primary', () => {
  const keys = [
    { kind: 'policy', pk: 'policy', sk: 'x', rounds: 4, at: 5000 },
    { kind: 'policy', pk: 'policy', sk: 'y', rounds: 2, at: 6000 },
  ]
  const record = { ...key('cluster'), data: { life: 'l', link: { name: 'n' } } }
  const found = (link: string) => ({ ...key('diverging'), data: { life: 'l', link, keys } })

  test('is named with its rounds, and whether it was given up; its short name is that of the status', async () => {
    const { diverging } = await shown([], {}, [record, found('n')])
    const [x] = keys
    expect(diverging).toEqual([
      {
        ...{ kind: 'policy', key: ['policy', 'x'], rounds: 4, given_up: true },
        ...{ last_found: '1970-01-01T00:00:05Z', name: x && tagOf(x) },
      },
      expect.objectContaining({ key: ['policy', 'y'], given_up: false }),
    ])
  })

  test('is nothing where it was another primary', async () => {
    expect((await shown([], {}, [record, found('other')])).diverging).toEqual([])
  })
})
