import { deflateRawSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { createFirstHead } from '../../../shared/journal/head.ts'
import {
  createNoopEntry,
  decodeEntryBody,
  type EntryChange,
  encodeEntryBody,
  isSameEntry,
  type JournalEntry,
} from '../../../shared/journal/journal-entry.ts'
import { positionText } from '../../../shared/journal/position.ts'

const at = { epoch: '000001.aaaaaaaaaaaa', seq: 7 }
const leaf = { leaf: 'A'.repeat(43), gen: 5000 }
const key = { kind: 'token', pk: 'token#x', sk: 'token' } as const
const body: EntryChange[] = [
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
      pos: positionText(at),
      leaf: leaf.leaf,
    },
  },
  { ...key, sk: 'wrapped', prev: { ...leaf, gen: null }, next: null, item: null },
]

describe('the body of a journal entry', () => {
  test('decoding returns the encoded changes without `bucket`, which each cluster computes itself', () => {
    const [first] = body
    if (!first?.item) throw new Error('no item')
    const written = [{ ...first, item: { ...first.item, bucket: 't#abc#l#00/00' } }, ...body.slice(1)]
    expect(decodeEntryBody(encodeEntryBody(written), at)).toEqual(body)
  })

  test('an empty body is decoded as empty', () =>
    expect(decodeEntryBody(encodeEntryBody([]), at)).toEqual([]))

  test.each([
    ['no deflated text', Buffer.from('hello')],
    ['no JSON', deflateRawSync('[')],
    ['more bytes than a commit can have', deflateRawSync(Buffer.alloc(20 * 2 ** 20, 32))],
  ])('decoding rejects %s', (_, bytes) => expect(() => decodeEntryBody(bytes, at)).toThrow())
})

describe('a journal entry', () => {
  const entry: JournalEntry = { ...at, id: 'c', at: 1, body }
  test('entries are the same if position, commit id and noop are equal', () => {
    expect(isSameEntry(entry, { ...entry, at: 2 })).toBe(true)
    expect(isSameEntry(entry, { ...entry, id: 'd' })).toBe(false)
    expect(isSameEntry(entry, createNoopEntry(at, 1))).toBe(false)
    expect(isSameEntry(createNoopEntry(at, 1), createNoopEntry(at, 2))).toBe(true)
    expect(isSameEntry(entry, { ...entry, seq: 8 })).toBe(false)
  })
})

test('the head of a new journal is at position 0', () => {
  expect(createFirstHead(at.epoch, 1)).toMatchObject({
    mode: 'writing',
    epoch: at.epoch,
    ownEpoch: at.epoch,
    last: 0,
    incarnation: 1,
    lineage: [[at.epoch, 1]],
    unfinishedSync: null,
    maxEpoch: 1,
  })
})
