import { describe, expect, test } from 'vitest'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import type { Journal } from '../../../../shared/journal/journal.ts'
import { createNoopEntry, type JournalEntry } from '../../../../shared/journal/journal-entry.ts'
import { prepareHeadForTakeOver } from '../../../../shared/replication/promotion/ready-head.ts'
import type { PromotionSnapshot } from '../../../../shared/replication/promotion/step.ts'
import type { Follower } from '../../../../shared/replication/secondary/follower.ts'
import { portsWith } from '../../../builders/ports.ts'
import { movedBy } from '../../../support/tables/heads.ts'

const EPOCH = '000001.aaaaaaaaaaaa'
const clock = { now: () => 0, sleep: async () => undefined }

/** Makes a closed journal that has entries at the given positions only. */
function closed(seq: number, there: readonly number[]) {
  let head: JournalHead = { ...createFirstHead(EPOCH, 1), mode: 'closed', last: seq }
  const entries = new Map<number, JournalEntry>(
    there.map(at => [at, { ...createNoopEntry({ epoch: EPOCH, seq: at }, 0), id: 'commit' }]),
  )
  const { journal } = portsWith({
    journal: {
      head: async () => head,
      moveHead: async move => {
        const moved = movedBy(head, move)
        if (moved !== 'refused') head = moved
        return moved
      },
      entries: async (_, after, to) =>
        Array.from({ length: to - after }, (_one, index) => entries.get(after + 1 + index)),
      putEntry: async entry => {
        const found = entries.get(entry.seq)
        if (!found) entries.set(entry.seq, entry)
        return found ?? 'done'
      },
    } satisfies Partial<Journal>,
  })
  const follower = { own: { clock, journal }, treeId: 'life' } as unknown as Follower
  const stand = { promotion: { force: true }, record: { data: {} } } as unknown as PromotionSnapshot
  return { entries, ready: () => prepareHeadForTakeOver({ clock, journal }, follower, stand) }
}

describe('a closed journal', () => {
  test('a closed journal is ready only after its open positions are closed, so that a late writer is rejected', async () => {
    const { entries, ready } = closed(4, [1, 3])
    const found = await ready()
    expect([...entries.keys()].sort()).toEqual([1, 2, 3, 4])
    expect([entries.get(2)?.noop, entries.get(4)?.noop]).toEqual([true, true])
    expect(found?.head).toMatchObject({ mode: 'closed', last: 4, applied: 4 })
  })
})
