import { describe, expect, test } from 'vitest'
import { type Cell, noopCell } from '../../../../shared/journal/cell.ts'
import { firstHead, type Head } from '../../../../shared/journal/head.ts'
import type { Journal } from '../../../../shared/journal/journal.ts'
import { readyHead } from '../../../../shared/replication/promotion/ready-head.ts'
import type { PromotionStand } from '../../../../shared/replication/promotion/stand.ts'
import type { Follower } from '../../../../shared/replication/secondary/follower.ts'
import { movedBy } from '../../../support/heads.ts'

const EPOCH = '000001.aaaaaaaaaaaa'
const clock = { now: () => 0, sleep: async () => undefined }

/** A closed journal with a cell at some positions only. */
function closed(seq: number, there: readonly number[]) {
  let head: Head = { ...firstHead(EPOCH, 1), mode: 'closed', last: seq }
  const cells = new Map<number, Cell>(
    there.map(at => [at, { ...noopCell({ epoch: EPOCH, seq: at }, 0), id: 'commit' }]),
  )
  const journal = {
    head: async () => head,
    moveHead: async move => {
      const moved = movedBy(head, move)
      if (moved !== 'refused') head = moved
      return moved
    },
    cells: async (_, after, to) =>
      Array.from({ length: to - after }, (_one, index) => cells.get(after + 1 + index)),
    putCell: async cell => {
      const found = cells.get(cell.seq)
      if (!found) cells.set(cell.seq, cell)
      return found ?? 'done'
    },
  } satisfies Partial<Journal> as unknown as Journal
  const follower = { own: { clock, journal }, treeId: 'life' } as unknown as Follower
  const stand = { promotion: { force: true }, record: { data: {} } } as unknown as PromotionStand
  return { cells, ready: () => readyHead({ clock, journal }, follower, stand) }
}

describe('a journal that was closed', () => {
  test('is taken over only when no position of it is open: who holds one comes too late', async () => {
    const { cells, ready } = closed(4, [1, 3])
    const found = await ready()
    expect([...cells.keys()].sort()).toEqual([1, 2, 3, 4])
    expect([cells.get(2)?.noop, cells.get(4)?.noop]).toEqual([true, true])
    expect(found?.head).toMatchObject({ mode: 'closed', last: 4, applied: 4 })
  })
})
