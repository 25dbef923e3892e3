import { beforeEach, describe, expect, test } from 'vitest'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import type { Journal } from '../../../../shared/journal/journal.ts'
import { createNoopEntry } from '../../../../shared/journal/journal-entry.ts'
import type { JournalLineage } from '../../../../shared/journal/position.ts'
import { serveJournalEntries } from '../../../../shared/link/serve/reading.ts'

const EPOCH = '000001.aaaaaaaaaaaa'
const head: JournalHead = { ...createFirstHead(EPOCH, 1), last: 3 }
const lineage: JournalLineage = [[EPOCH, 1]]

/** Makes a journal whose head changes with each read. */
function journalOf(...heads: JournalHead[]): Pick<Journal, 'head' | 'entries' | 'moveHead'> {
  return {
    moveHead: async ({ expect, next }) => {
      moved.push({ ...expect, to: next })
      return refusals-- > 0 ? 'refused' : head
    },
    head: async () => heads.shift(),
    entries: async (_, after, to) =>
      Array.from({ length: to - after }, (_one, index) =>
        createNoopEntry({ epoch: EPOCH, seq: after + 1 + index }, 0),
      ),
  }
}

const asked = { lineage, after: 0, maxBytes: 1000 }

let moved: object[]
let refusals: number
beforeEach(() => {
  moved = []
  refusals = 0
})

describe('serveJournalEntries stores the frontier before it returns entries', () => {
  const note = (applied: number, to = 3) => ({
    mode: 'writing',
    epoch: EPOCH,
    incarnation: 1,
    applied,
    to: { applied: to },
  })

  test('the frontier of a writing journal is stored once for each new position', async () => {
    await serveJournalEntries(journalOf(head, head), asked)
    expect(moved).toEqual([note(0)])
    await serveJournalEntries(journalOf({ ...head, applied: 3 }, { ...head, applied: 3 }), asked)
    expect(moved).toHaveLength(1)
  })

  test('after a conflict the frontier is stored again, until it is stored or known', async () => {
    refusals = 1
    await serveJournalEntries(journalOf(head, head, { ...head, applied: 1 }), asked)
    expect(moved).toEqual([note(0), note(1)])
    refusals = 1
    await serveJournalEntries(journalOf(head, head, { ...head, applied: 3 }), asked)
    expect(moved).toEqual([note(0), note(1), note(0)])
  })

  test('the frontier is not stored for a closed journal, and never beyond a known gap', async () => {
    const closed: JournalHead = { ...head, mode: 'closed' }
    await serveJournalEntries(journalOf(closed, closed), asked)
    await serveJournalEntries(journalOf(head, head), { ...asked, after: 1 })
    expect(moved).toEqual([])
  })
})

describe('serveJournalEntries returns entries', () => {
  test('entries of a journal that does not change are returned', async () => {
    const answer = await serveJournalEntries(journalOf(head, head), asked)
    expect(answer).toMatchObject({ frontier: 3, lineage })
  })

  test('no entries are returned if the lineage changes while entries are read', async () => {
    const later: JournalHead = {
      ...head,
      lineage: [
        [EPOCH, 1],
        ['000002.aaaaaaaaaaaa', 3],
      ],
    }
    await expect(serveJournalEntries(journalOf(head, later), asked)).rejects.toMatchObject({
      code: 'unavailable',
    })
  })

  test('no entries are returned by a cluster that follows another cluster before or after the read', async () => {
    const copy: JournalHead = { ...head, ownEpoch: '' }
    await expect(serveJournalEntries(journalOf(copy, copy), asked)).rejects.toMatchObject({
      code: 'failed_precondition',
    })
    await expect(serveJournalEntries(journalOf(head, copy), asked)).rejects.toMatchObject({
      code: 'failed_precondition',
    })
  })
})
