import { describe, expect, test } from 'vitest'
import { addTreeBucket, splitLeafIntoLimbs } from '../../../../shared/journal/tree.ts'
import { toPageElements } from '../../../../shared/replication/sync/segments.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { nameOf, type Place, policyAt, TREE_ID, writer } from '../../../builders/journal.ts'

const x = policyAt('x')

/** Returns the states of an item: absent, and after each of two commits. */
const states = (place: Place) => {
  const w = writer()
  const state = () => w.items.get(nameOf(place)) as StoredItem
  w.commit(0, [place, '1'])
  const first = state()
  w.commit(0, [place, '2'])
  return { first, second: state() }
}

const elements = (item: StoredItem | undefined, own: StoredItem | undefined) =>
  toPageElements(TREE_ID, [{ place: x, item }], [own], 0)

describe('writes of a sync', () => {
  const { first, second } = states(x)
  const mine = (item: StoredItem) => addTreeBucket(item, TREE_ID)

  test('a missing item is stored with this cluster’s tree, and its leaf is added; the mark stays', () => {
    const [item, bucket, ...more] = elements(second, undefined)
    expect(more).toEqual([])
    expect(item).toEqual({ kind: 'item', item: x, put: mine(second), if: 'absent' })
    expect(bucket).toMatchObject({ sums: new Map([['p', splitLeafIntoLimbs(second.leaf ?? '')]]) })
    expect(bucket).not.toHaveProperty('mark')
  })

  test('a different item is replaced as it was read, and its leaf leaves the sums', () => {
    const [item, bucket] = elements(second, mine(first))
    expect(item).toEqual({ kind: 'item', item: x, put: mine(second), if: { rev: first.rev } })
    const [a, b] = [splitLeafIntoLimbs(second.leaf ?? ''), splitLeafIntoLimbs(first.leaf ?? '')]
    expect(bucket).toMatchObject({ sums: new Map([['p', a.map((limb, at) => limb - (b[at] ?? 0n))]]) })
  })

  test('an item that only this cluster has is deleted', () => {
    const [item, bucket] = elements(undefined, mine(first))
    expect(item).toEqual({ kind: 'item', item: x, put: null, if: { rev: first.rev } })
    expect(bucket).toMatchObject({
      sums: new Map([['p', splitLeafIntoLimbs(first.leaf ?? '').map(limb => -limb)]]),
    })
  })

  test('the transaction expects an unchanged item, or an absent one, as it was read', () => {
    expect(elements(second, mine(second))).toEqual([{ kind: 'check', check: x, if: { rev: second.rev } }])
    expect(elements(undefined, undefined)).toEqual([{ kind: 'check', check: x, if: 'absent' }])
  })

  test('an item of an earlier tree is replaced, and no leaf leaves the sums', () => {
    const [item, bucket] = elements(second, addTreeBucket(second, 'before'))
    expect(item).toEqual({ kind: 'item', item: x, put: mine(second), if: { rev: second.rev } })
    expect(bucket).toMatchObject({ sums: new Map([['p', splitLeafIntoLimbs(second.leaf ?? '')]]) })
  })
})
