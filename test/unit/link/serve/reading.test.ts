import { describe, expect, test } from 'vitest'
import { cells } from '../../../../shared/link/serve/reading.ts'
import { noopCell } from '../../../../shared/replication/cell.ts'
import { firstHead, type Head } from '../../../../shared/replication/head.ts'
import type { Journal } from '../../../../shared/replication/journal.ts'
import type { Line } from '../../../../shared/replication/position.ts'

const EPOCH = '000001.aaaaaaaaaaaa'
const head: Head = { ...firstHead(EPOCH, 1), seq: 3 }
const line: Line = [[EPOCH, 1]]

/** A journal whose head is one after the other, each time it is looked at. */
function journalOf(...heads: Head[]): Pick<Journal, 'head' | 'cells'> {
  return {
    head: async () => heads.shift(),
    cells: async (_, after, to) =>
      Array.from({ length: to - after }, (_one, index) =>
        noopCell({ epoch: EPOCH, seq: after + 1 + index }, 0),
      ),
  }
}

const asked = { line, from: 0, bytes: 1000 }

describe('cells are given', () => {
  test('by a journal that stays what it is', async () => {
    const answer = await cells(journalOf(head, head), asked)
    expect(answer).toMatchObject({ frontier: 3, line })
  })

  test('not by one whose lineage changes while they are read', async () => {
    const later: Head = {
      ...head,
      line: [
        [EPOCH, 1],
        ['000002.aaaaaaaaaaaa', 3],
      ],
    }
    await expect(cells(journalOf(head, later), asked)).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('not by a cluster that has them from another one, before or after they are read', async () => {
    const copy: Head = { ...head, own: '' }
    await expect(cells(journalOf(copy, copy), asked)).rejects.toMatchObject({ code: 'failed_precondition' })
    await expect(cells(journalOf(head, copy), asked)).rejects.toMatchObject({ code: 'failed_precondition' })
  })
})
