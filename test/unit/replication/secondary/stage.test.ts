import { describe, expect, test } from 'vitest'
import type { Cell } from '../../../../shared/journal/cell.ts'
import { firstHead, type Head } from '../../../../shared/journal/head.ts'
import type { Lineage } from '../../../../shared/journal/position.ts'
import { nextCells } from '../../../../shared/replication/secondary/stage.ts'

const FIRST = '000001.aaaaaaaaaaaa'
const SECOND = '000002.bbbbbbbbbbbb'
const head: Head = { ...firstHead(FIRST, 1), mode: 'applying', own: '', last: 10, applied: 10 }
const lineage: Lineage = [
  [FIRST, 1],
  [SECOND, 13],
]

const cell = (seq: number, epoch = seq < 13 ? FIRST : SECOND): Cell => ({
  epoch,
  seq,
  id: `${seq}`,
  at: 0,
  body: [],
})
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => cell(from + at))

describe('what a source sends is staged', () => {
  test('from the next position on, across the end of an epoch, a window at a time', () => {
    expect(nextCells(head, { cells: range(11, 15), lineage })).toEqual(range(11, 15))
    expect(nextCells(head, { cells: [], lineage })).toEqual([])
    expect(nextCells(head, { cells: range(11, 1900), lineage }).length).toBe(1000)
  })

  test('not where a cell is missing, comes twice, or comes late', () => {
    for (const cells of [range(12, 13), [cell(11), cell(13)], [cell(11), cell(11)], range(10, 12)])
      expect(() => nextCells(head, { cells, lineage })).toThrow('is not the next one')
  })

  test('not where a cell is of another epoch than the lineage says', () => {
    const foreign = [cell(11), cell(12, SECOND)]
    expect(() => nextCells(head, { cells: foreign, lineage })).toThrow('is of another epoch')
  })

  test('not where the lineage has left the own one, or never met it', () => {
    const left: Lineage = [
      [FIRST, 1],
      [SECOND, 9],
    ]
    for (const other of [left, [[SECOND, 1]] as const])
      expect(() => nextCells(head, { cells: range(11, 12), lineage: other })).toThrow('another one')
  })
})
