import { describe, expect, test } from 'vitest'
import { createEmptyLink } from '../../../../shared/model/cluster.ts'
import { isTreeCorrupted } from '../../../../shared/replication/check/corrupted.ts'
import {
  areFindingsCorrupt,
  type TreeFault,
  toCorruptionReport,
  toTreeFindings,
} from '../../../../shared/replication/check/findings.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'

const hash = (byte: number) => Buffer.alloc(32, byte).toString('base64url')
const roots = { replicated: hash(1), local: hash(2) }
const shown = (...faults: TreeFault[]) => toCorruptionReport(toTreeFindings(faults, roots), 1_800_000_000_123)

describe('the report of a Merkle check', () => {
  test('the report of a sound tree has both subtrees with their roots in base64, and no maps', () => {
    expect(areFindingsCorrupt(toTreeFindings([], roots))).toBe(false)
    expect(shown()).toEqual({
      corrupted_root: false,
      last_corruption_check_epoch: '2027-01-15T08:00:00.123Z',
      corrupted_tree_map: {
        '1': {
          tree_type: 'replicated',
          root_hash: Buffer.alloc(20, 1).toString('base64'),
          corrupted_subtree_root: false,
          corrupted_index_tuples_map: null,
        },
        '2': {
          tree_type: 'local',
          root_hash: Buffer.alloc(20, 2).toString('base64'),
          corrupted_subtree_root: false,
          corrupted_index_tuples_map: null,
        },
      },
    })
  })

  test("the report lists faulty pages by number, with the page's own fault and its faulty subpages in order", () => {
    const { corrupted_tree_map: map, corrupted_root: whole } = shown(
      { level: 'page', of: 'local', page: 255 },
      { level: 'bucket', of: 'replicated', page: 5, subpage: 255 },
      { level: 'bucket', of: 'replicated', page: 5, subpage: 0 },
      { level: 'bucket', of: 'replicated', page: 5, subpage: 28 },
      { level: 'page', of: 'replicated', page: 12 },
      { level: 'bucket', of: 'replicated', page: 12, subpage: 7 },
    )
    expect(whole).toBe(false)
    expect(map['1']?.corrupted_index_tuples_map).toEqual({
      '5': { corrupted: false, subpages: [0, 28, 255] },
      '12': { corrupted: true, subpages: [7] },
    })
    expect(map['2']?.corrupted_index_tuples_map).toEqual({ '255': { corrupted: true, subpages: [] } })
  })

  test.each<[TreeFault, boolean, boolean, boolean]>([
    [{ level: 'whole' }, true, false, false],
    [{ level: 'root', of: 'replicated' }, false, true, false],
    [{ level: 'root', of: 'local' }, false, false, true],
  ])('the report shows %j at its level only', (fault, whole, replicated, local) => {
    const report = shown(fault)
    expect(report.corrupted_root).toBe(whole)
    expect(report.corrupted_tree_map['1']?.corrupted_subtree_root).toBe(replicated)
    expect(report.corrupted_tree_map['2']?.corrupted_subtree_root).toBe(local)
    expect(areFindingsCorrupt(toTreeFindings([fault], roots))).toBe(true)
  })

  test('a report with every fault fits into one DynamoDB item', () => {
    const all = (['replicated', 'local'] as const).flatMap(of =>
      Array.from(
        { length: 65_536 },
        (_, index): TreeFault => ({ level: 'bucket', of, page: index >> 8, subpage: index & 255 }),
      ),
    )
    expect(JSON.stringify(toTreeFindings(all, roots)).length).toBeLessThan(60_000)
  })
})

test('a tree counts as corrupted until a later check of the same tree finds no fault', () => {
  const check = (treeId: string, corrupted: boolean) => ({
    data: { treeId, corrupted, operation: 'o', startedAt: 0 },
  })
  const a = { treeId: 'a', mode: 'secondary' } as const
  expect(isTreeCorrupted(a, undefined, undefined)).toBe(false)
  expect(isTreeCorrupted(a, check('a', false), undefined)).toBe(false)
  expect(isTreeCorrupted(a, check('a', true), undefined)).toBe(true)
  expect(isTreeCorrupted({ ...a, treeId: 'b' }, check('a', true), undefined)).toBe(false)
})

test('a secondary also shows a corrupted tree while items keep differing from the primary’s', () => {
  const link = { ...createEmptyLink('own' as EncryptedText), name: 'l' }
  const here = { treeId: 'a', mode: 'secondary', link } as const
  const diverging = (rounds: number, of = { treeId: 'a', link: 'l' }) => ({
    data: { ...of, keys: [{ kind: 'policy', pk: 'policy', sk: 'x', rounds, at: 0 }] },
  })
  expect(isTreeCorrupted(here, undefined, diverging(3))).toBe(false)
  expect(isTreeCorrupted(here, undefined, diverging(4))).toBe(true)
  expect(isTreeCorrupted({ ...here, mode: 'primary' }, undefined, diverging(4))).toBe(false)
  expect(isTreeCorrupted(here, undefined, diverging(4, { treeId: 'b', link: 'l' }))).toBe(false)
  expect(isTreeCorrupted(here, undefined, diverging(4, { treeId: 'a', link: 'another' }))).toBe(false)
})
