import { deflateRawSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import {
  type Cell,
  type CellChange,
  decodeBody,
  encodeBody,
  noopCell,
  sameCell,
} from '../../../shared/journal/cell.ts'
import { firstHead } from '../../../shared/journal/head.ts'
import { posText } from '../../../shared/journal/position.ts'

const at = { epoch: '000001.aaaaaaaaaaaa', seq: 7 }
const leaf = { leaf: 'A'.repeat(43), gen: 5000 }
const key = { kind: 'token', pk: 'token#x', sk: 'token' } as const
const body: CellChange[] = [
  {
    ...key,
    prev: null,
    next: leaf,
    item: {
      ...key,
      rev: 'r',
      data: { policies: ['a'] },
      uses: 2,
      expires: 9,
      ttl: 10,
      pos: posText(at),
      leaf: leaf.leaf,
    },
  },
  { ...key, sk: 'wrapped', prev: { ...leaf, gen: null }, next: null, item: null },
]

describe('the body of a cell', () => {
  test('is read back as it was written, but for the bucket, which is each cluster’s own', () => {
    const [first] = body
    if (!first?.item) throw new Error('no item')
    const written = [{ ...first, item: { ...first.item, bucket: 't#abc#l#00/00' } }, ...body.slice(1)]
    expect(decodeBody(encodeBody(written), at)).toEqual(body)
  })

  test('may be empty', () => expect(decodeBody(encodeBody([]), at)).toEqual([]))

  test.each([
    ['no deflated text', Buffer.from('hello')],
    ['no JSON', deflateRawSync('[')],
    ['more than any commit holds', deflateRawSync(Buffer.alloc(20 * 2 ** 20, 32))],
  ])('%s is refused', (_, bytes) => expect(() => decodeBody(bytes, at)).toThrow())
})

describe('a cell', () => {
  const cell: Cell = { ...at, id: 'c', at: 1, body }
  test('is told by its commit', () => {
    expect(sameCell(cell, { ...cell, at: 2 })).toBe(true)
    expect(sameCell(cell, { ...cell, id: 'd' })).toBe(false)
    expect(sameCell(cell, noopCell(at, 1))).toBe(false)
    expect(sameCell(noopCell(at, 1), noopCell(at, 2))).toBe(true)
    expect(sameCell(cell, { ...cell, seq: 8 })).toBe(false)
  })
})

test('a journal begins before its first position, and nothing is to be made up for', () => {
  expect(firstHead(at.epoch, 1)).toMatchObject({
    mode: 'writing',
    epoch: at.epoch,
    own: at.epoch,
    last: 0,
    incarnation: 1,
    lineage: [[at.epoch, 1]],
    unfinishedSync: null,
    maxEpoch: 1,
  })
})
