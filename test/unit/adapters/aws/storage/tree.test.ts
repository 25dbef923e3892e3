import { expect, test } from 'vitest'
import { buildBucketUpdate } from '../../../../../shared/adapters/aws/storage/tree.ts'
import { isGenerationForgotten } from '../../../../../shared/journal/generation.ts'
import { bucketMarkText } from '../../../../../shared/journal/position.ts'
import type { LeafLimbs } from '../../../../../shared/journal/tree.ts'

const NOW = 2_000_000_000
const bucket = { pk: 't#life#l#00', sk: '00' }
const one: LeafLimbs = [1n, 1n, 1n]
const mark = (seq: number) => bucketMarkText(1, `000001.aaaaaaaaaaaa/${String(seq).padStart(12, '0')}`)
const removed = (input: { UpdateExpression: string }): string[] =>
  (input.UpdateExpression.split('REMOVE ')[1] ?? '').split(',').filter(name => name !== '')

test('a bucket update drops forgotten sums only if the update adds to a generation, all forgotten sums in three turns', () => {
  expect(
    removed(buildBucketUpdate({ kind: 'bucket', bucket, sums: new Map([['p', one]]), mark: mark(1) }, NOW)),
  ).toEqual([])
  const slot = 'g6000'
  const turns = [1, 2, 3].map(seq =>
    removed(
      buildBucketUpdate({ kind: 'bucket', bucket, sums: new Map([[slot, one]]), mark: mark(seq) }, NOW),
    ),
  )
  expect(turns.map(names => names.length)).toEqual([9, 9, 9])
  const generations = new Set(turns.flat().map(name => Number(/^g(\d+)_/.exec(name)?.[1])))
  expect(generations.size).toBe(9)
  expect([...generations].every(generation => isGenerationForgotten(generation, NOW))).toBe(true)
})

test('a bucket update does not drop a sum to which the update adds', () => {
  const generations = Array.from({ length: 20 }, (_, index) => Math.ceil(NOW / (4 * 86_400)) - index)
  for (const generation of generations) {
    const sums = new Map([[`g${generation}`, one]])
    const dropped = [1, 2, 3].flatMap(seq =>
      removed(buildBucketUpdate({ kind: 'bucket', bucket, sums, mark: mark(seq) }, NOW)),
    )
    expect(dropped.filter(name => name.startsWith(`g${generation}_`))).toEqual([])
  }
})
