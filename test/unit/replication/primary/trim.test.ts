import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { firstHead, type Head } from '../../../../shared/journal/head.ts'
import type { Journal } from '../../../../shared/journal/journal.ts'
import { type JournalEntry, noopEntry } from '../../../../shared/journal/journal-entry.ts'
import { trimJournal } from '../../../../shared/replication/primary/trim.ts'
import { movedBy } from '../../../support/heads.ts'

const EPOCH = '000001.aaaaaaaaaaaa'
const DAY = 24 * 3600 * 1000
const NOW = 1_800_000_000_000

/** A journal whose journal entries are so many days old; those older than 30 are gone. */
function journalOf(ages: readonly number[], parts: Partial<Head> = {}) {
  const head: Head = { ...firstHead(EPOCH, 1), last: ages.length, applied: ages.length, ...parts }
  const entries = ages.map((age, index): JournalEntry | undefined =>
    age > 30 ? undefined : noopEntry({ epoch: EPOCH, seq: index + 1 }, NOW - age * DAY),
  )
  const port: Pick<Journal, 'head' | 'entries' | 'moveHead'> = {
    head: async () => ({ ...head }),
    entries: async (_, after, to) => entries.slice(after, to),
    moveHead: async move => {
      const moved = movedBy(head, move)
      return moved === 'refused' ? moved : Object.assign(head, moved)
    },
  }
  return { head, journal: port as Journal }
}

const clock = { now: () => NOW, sleep: async () => undefined }

async function trimmed(ages: readonly number[], parts: Partial<Head> = {}): Promise<number> {
  const { head, journal } = journalOf(ages, parts)
  await trimJournal({ journal, clock })
  return head.retainedFrom
}

describe('the beginning of a journal', () => {
  test.each<[string, number[], number]>([
    ['stays while no journal entry is older than 29 days and a half', [29.4, 29.1, 3, 1], 0],
    ['moves to the first journal entry younger than 29 days', [29.6, 29.2, 28.9, 1], 2],
    ['moves over journal entries that are gone already', [40, 35, 29.2, 28.9, 1], 3],
    ['moves to the end where all of them are old', [40, 35, 31], 3],
    ['stays in a journal that is empty', [], 0],
  ])('%s', async (_, ages, from) => {
    expect(await trimmed(ages)).toBe(from)
  })

  test.each<[Head['mode'], number]>([
    ['writing', 2],
    ['closed', 2],
    ['applying', 2],
    ['draining', 0],
    ['syncing', 0],
  ])('of a head that is %s is %i', async (mode, from) => {
    const own = mode === 'writing' || mode === 'closed' ? EPOCH : ''
    const unfinishedSync = mode === 'syncing' ? 'all' : null
    expect(await trimmed([40, 31, 2, 1], { mode, own, unfinishedSync })).toBe(from)
  })

  test('never passes what is not applied, or not dense', async () => {
    expect(await trimmed([40, 40, 40, 40], { applied: 2 })).toBe(2)
  })

  test('loses no journal entry younger than 29 days, and keeps none of those that may be gone', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 60 }), async given => {
        const ages = given.sort((a, b) => b - a)
        const from = await trimmed(ages)
        expect(ages.slice(0, from).every(age => age > 29)).toBe(true)
        expect(ages.slice(from).every(age => age <= 30)).toBe(true)
      }),
    ))
})
