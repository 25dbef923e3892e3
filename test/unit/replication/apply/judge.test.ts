import { describe, expect, test } from 'vitest'
import { bucketMarkText } from '../../../../shared/journal/position.ts'
import { addTreeBucket } from '../../../../shared/journal/tree.ts'
import {
  type ApplySettings,
  type BucketChanges,
  type BucketWrite,
  judgeBucketChanges,
  planBucketWrite,
} from '../../../../shared/replication/apply/judge.ts'
import { splitEntriesIntoComponents } from '../../../../shared/replication/apply/window.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { neighbours, policyAt, TREE_ID, tokenAt, writer } from '../../../builders/journal.ts'
import { tables } from '../../../builders/tables.ts'

const { a, b } = neighbours
const x = policyAt('x')
const NOW = 2_000_000_000
const DAY = 86_400
const streaming: ApplySettings = { treeId: TREE_ID, incarnation: 1, replayUntil: 0, now: NOW }

/** Returns the only piece of each journal entry of a writer. */
const piecesOf = ({ entries }: ReturnType<typeof writer>): BucketChanges[] =>
  entries.map(entry => {
    const [piece] = splitEntriesIntoComponents(TREE_ID, [entry]).flat()
    if (!piece) throw new Error('a journal entry without changes')
    return piece
  })

const judged = (piece: BucketChanges, at: ReturnType<typeof tables>, setting = streaming) => {
  const [found] = at.find([piece])
  if (!found) throw new Error('nothing was looked for')
  return judgeBucketChanges(piece, found, setting)
}

const stepsOf = (verdict: ReturnType<typeof judgeBucketChanges>): BucketWrite => {
  if (verdict.kind !== 'write') throw new Error(`no steps: ${JSON.stringify(verdict)}`)
  return verdict.steps
}

/** Returns a secondary that has applied the given pieces. */
const having = (pieces: readonly BucketChanges[], setting = streaming) => {
  const at = tables()
  for (const piece of pieces) expect(at.write([planBucketWrite(piece, setting)])).toBe('done')
  return at
}

describe('marks of tree buckets', () => {
  test('a late write of a frozen process is rejected, although its item is as the journal entry expects', () => {
    const w = writer()
    w.commit(0, [x, '1'])
    w.commit(0, [x, null])
    const [put, gone] = piecesOf(w) as [BucketChanges, BucketChanges]
    const at = having([put, gone])
    expect(at.items.size).toBe(0)
    expect(at.write([planBucketWrite(put, streaming)])).toBe('refused')
    expect(judged(put, at)).toEqual({ kind: 'applied' })
  })

  test('a replay has higher marks than the entries it replaces', () => {
    const w = writer()
    for (const value of ['1', '2', '3', '4']) w.commit(0, [x, value])
    const pieces = piecesOf(w)
    const at = having(pieces)
    // a sync restarts after the second journal entry, and has fetched that entry's items
    const [, second, third] = pieces as [BucketChanges, BucketChanges, BucketChanges]
    at.items.set('policy\nx', addTreeBucket(second.changes[0]?.item as StoredItem, TREE_ID))
    const replay = { ...streaming, incarnation: 3, replayUntil: 4 }
    expect(judged(third, at)).toEqual({ kind: 'applied' })
    expect(at.write([stepsOf(judged(third, at, replay))])).toBe('done')
    expect(at.items.get('policy\nx')?.data).toEqual({ value: '3' })
  })

  test("applying a piece of a window raises the mark of the piece's own bucket only", () => {
    const w = writer()
    const token = tokenAt('t')
    w.commit(0, [token, '1', NOW + DAY])
    w.commit(0, [token, '2', NOW + 9 * DAY])
    for (const piece of piecesOf(w)) {
      const { bucket, mark } = planBucketWrite(piece, streaming)
      expect(bucket.bucket).toEqual(piece.bucket)
      expect(mark).toBe(bucketMarkText(1, piece.pos))
    }
  })

  test('changes of one journal entry in one bucket are written in one transaction', () => {
    const w = writer()
    w.commit(0, [a, '1'], [b, '1'])
    const [both] = piecesOf(w) as [BucketChanges]
    const at = having([both])
    expect(at.items.size).toBe(2)
    expect(judged(both, at)).toEqual({ kind: 'applied' })
  })
})

describe('items during the replay after a sync', () => {
  const replay: ApplySettings = { ...streaming, incarnation: 3, replayUntil: 2 }

  /** Makes a policy that was written twice. The sync has fetched its second state. */
  const fetched = () => {
    const w = writer()
    w.commit(0, [x, '1'])
    w.commit(0, [x, '2'])
    const pieces = piecesOf(w) as [BucketChanges, BucketChanges]
    return { pieces, at: tables(w.items) }
  }

  test('an item that the sync has fetched in a later state stays unchanged', () => {
    const { pieces, at } = fetched()
    for (const piece of pieces) {
      expect(at.write([stepsOf(judged(piece, at, replay))])).toBe('done')
      expect(at.items.get('policy\nx')?.data).toEqual({ value: '2' })
    }
  })

  test('an unchanged item still raises the mark', () => {
    const { pieces, at } = fetched()
    const [first, second] = pieces
    const late = stepsOf(judgeBucketChanges(first, { items: [undefined], mark: '' }, replay))
    for (const piece of pieces) at.write([stepsOf(judged(piece, at, replay))])
    expect(at.markOf(second)).toBe(bucketMarkText(3, second.pos))
    at.items.clear()
    expect(at.write([late])).toBe('refused')
  })

  test('the transaction expects an unchanged item as it was read', () => {
    const { pieces, at } = fetched()
    const [first] = pieces
    const skip = stepsOf(judged(first, at, replay))
    at.items.delete('policy\nx')
    expect(at.write([skip])).toBe('refused')
    const absent = writer()
    absent.commit(0, [x, '1'])
    absent.commit(0, [x, null])
    const [put, gone] = piecesOf(absent) as [BucketChanges, BucketChanges]
    const empty = tables()
    const skipped = stepsOf(judged(gone, empty, replay))
    expect(skipped.items).toEqual([{ key: x, if: 'absent' }])
    empty.write([stepsOf(judged(put, empty, replay))])
    expect(empty.write([skipped])).toBe('refused')
  })

  test('any existing item is replaced, and its leaf is removed from the sums', () => {
    const w = writer()
    w.commit(0, [x, '1'])
    w.commit(0, [x, '2'])
    const [first, second] = piecesOf(w) as [BucketChanges, BucketChanges]
    const at = having([first])
    expect(at.write([stepsOf(judged(second, at, replay))])).toBe('done')
    expect(at.tree(NOW).kept).toEqual(at.tree(NOW).right)
  })

  test('after the replay ends, items must be as journal entries expect again', () => {
    const w = writer()
    for (const value of ['1', '2', '3']) w.commit(0, [x, value])
    const third = piecesOf(w)[2] as BucketChanges
    expect(judged(third, tables(), replay)).toEqual({ kind: 'mismatch', places: [x] })
  })
})

describe('expired items that DynamoDB has deleted, or not yet deleted, are no mismatch', () => {
  const token = tokenAt('t')
  /** Renews a token that expired at `NOW - DAY * days`. */
  const renewal = (days: number) => {
    const w = writer()
    w.commit((NOW - 20 * DAY) * 1000, [token, '1', NOW - days * DAY])
    w.commit(NOW * 1000, [token, '2', NOW + DAY])
    return piecesOf(w) as [BucketChanges, BucketChanges]
  }

  test('a renewed token whose expired copy is already deleted here is no mismatch after its generation ended', () => {
    const [first, second] = renewal(6)
    const at = having([first])
    at.items.clear()
    expect(at.write([stepsOf(judged(second, at))])).toBe('done')
    expect(at.tree(NOW).kept).toEqual(at.tree(NOW).right)
  })

  test('a missing token before the end of its generation is a mismatch', () => {
    const [, second] = renewal(-1)
    expect(judged(second, tables())).toEqual({ kind: 'mismatch', places: [token] })
  })

  test('a recreated token whose expired predecessor still exists here is no mismatch', () => {
    const w = writer()
    w.commit(NOW * 1000, [token, '2', NOW + DAY])
    const [made] = piecesOf(w) as [BucketChanges]
    const [old] = renewal(6)
    const at = having([old], { ...streaming, incarnation: 0 })
    expect(at.write([stepsOf(judged(made, at))])).toBe('done')
    expect(at.tree(NOW).kept).toEqual(at.tree(NOW).right)
  })

  test('a recreated token whose predecessor had not expired is a mismatch', () => {
    const w = writer()
    w.commit((NOW - 30 * DAY) * 1000, [token, '2', NOW + DAY])
    const [made] = piecesOf(w) as [BucketChanges]
    const [old] = renewal(6)
    const at = having([old], { ...streaming, incarnation: 0 })
    expect(judged(made, at)).toEqual({ kind: 'mismatch', places: [token] })
  })

  test('a missing item of a kind that never expires is a mismatch', () => {
    const w = writer()
    w.commit(0, [x, '1'])
    w.commit(0, [x, '2'])
    expect(judged(piecesOf(w)[1] as BucketChanges, tables())).toEqual({ kind: 'mismatch', places: [x] })
  })
})
