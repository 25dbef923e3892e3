import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import type { Report } from '../../../../shared/model/secondary.ts'
import { showDivergence } from '../../../../shared/replication/manage/divergence.ts'
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
function storeOf(parts: readonly Item<'report'>[]) {
  const list = async (_: unknown, { after = '', limit = 0 }: { after?: string; limit?: number }) =>
    parts.filter(({ sk }) => sk > after).slice(0, limit)
  const read = async ([place]: { sk: string }[]) => [parts.find(({ sk }) => sk === place?.sk)]
  return { list, read }
}

const shown = async (parts: readonly Item<'report'>[], given: object = {}) => {
  const { answer } = await showDivergence(
    callWith({ given, ports: { store: storeOf(parts) } }) as Call<never>,
  )
  return (answer as unknown as { data: { lost: { name: string; position: string }[]; next: string } }).data
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
    expect(await shown([])).toEqual({ lost: [], next: '' })
    expect(await shown([part('000000003.abc/0000-1', [cell(4)])], { after: 'zzz' })).toEqual({
      lost: [],
      next: '',
    })
  })
})
