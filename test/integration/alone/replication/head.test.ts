import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { journalHeadKey } from '../../../../shared/adapters/aws/storage/head.ts'
import { alarmingTexts } from '../../../../shared/api/alarming.ts'
import type { JournalHead, JournalHeadMode } from '../../../../shared/journal/head.ts'
import { type HeadTransitionName, headMoves } from '../../../../shared/journal/transitions.ts'
import { STORED_FORMAT } from '../../../../shared/storage/format.ts'
import { defined } from '../../../../shared/values/defined.ts'
import { FIRST, headIn, moveCases, SECOND, THIRD } from '../../../builders/head-moves.ts'
import { cluster, storage } from '../../../support/service/cluster.ts'
import { movedBy } from '../../../support/tables/heads.ts'
import { sendAt, tableStore } from '../../../support/tables/store.ts'

// Tests the journal head on the engine: its conditions equal the rules of docs/spec/journal-head.md, in one
// round trip.

let told: { message: string; rules: unknown; move: unknown }[] = []
const { journal } = tableStore(cluster, {
  log: (message, fields) => void told.push({ message, ...(fields as { rules: unknown; move: unknown }) }),
})

/** Stores a journal head directly, without a move. */
async function putHead(head: Partial<JournalHead>): Promise<void> {
  const Item = defined({ ...journalHeadKey, kind: 'head', format: STORED_FORMAT, ...head })
  await sendAt(cluster)('PutItem', { TableName: cluster.tables.cluster, Item })
}

beforeEach(async () => {
  told = []
  await storage.reset()
})

const operations = async () => (await storage.calls()).map(call => call.operation)

describe('each move of the journal head on the storage engine', () => {
  test.each(Object.entries(moveCases))('%s', async (name, { make, modes, becomes }) => {
    const [mode] = (Object.keys(modes) as (JournalHeadMode | 'none')[]).filter(one => one !== 'none') as [
      JournalHeadMode,
    ]
    const head = { ...headIn[mode], ...(name === 'takeOver' ? { unfinishedSync: null } : {}) }
    await putHead(head)
    await storage.reset()
    expect(await journal.moveHead(make(head))).toEqual({ ...head, ...becomes, mode: modes[mode] })
    expect(await operations()).toEqual(['UpdateItem'])
    expect(told).toEqual([])
  })

  test('allocating a position takes one round trip', async () => {
    await putHead(headIn.writing)
    await storage.reset()
    expect(await journal.allocate(SECOND)).toEqual({ seq: 10, incarnation: 5 })
    expect(await operations()).toEqual(['UpdateItem'])
  })
})

/** Generates values of fields of the head, most of which break rules. */
const anyHead: fc.Arbitrary<Partial<JournalHead>> = fc.record(
  {
    mode: fc.constantFrom<JournalHeadMode>('writing', 'closed', 'applying', 'draining', 'syncing'),
    epoch: fc.constantFrom(SECOND, THIRD),
    ownEpoch: fc.constantFrom('', FIRST, SECOND),
    last: fc.constantFrom(6, 7, 9, 12),
    applied: fc.constantFrom(1, 7, 9),
    incarnation: fc.constantFrom(5, 7),
    retainedFrom: fc.constantFrom(2, 7, 8),
    replayUntil: fc.constantFrom(0, 7, 8, 12),
    unfinishedSync: fc.constantFrom(null, 'all', 'a report'),
    unfinishedSyncEpoch: fc.constantFrom('', SECOND),
    maxEpoch: fc.constantFrom(1, 2, 3, 9),
    link: fc.constantFrom('a link', 'another'),
  },
  { requiredKeys: [] },
)
const names = Object.keys(moveCases) as HeadTransitionName[]

const allModes = Object.keys(headIn) as JournalHeadMode[]

/** Chooses mostly modes from which the move is allowed, so that both results are frequent. */
const modeFor = (name: HeadTransitionName): fc.Arbitrary<JournalHeadMode> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...allModes.filter(mode => moveCases[name].modes[mode])) },
    { weight: 1, arbitrary: fc.constantFrom(...allModes) },
  )

test('for any journal head and any earlier read of that head, the engine allows exactly the moves in docs/spec/journal-head.md', async () => {
  const counts = { made: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...names).chain(name => fc.tuple(fc.constant(name), modeFor(name))),
      fc.oneof(fc.constant({}), anyHead),
      async ([name, mode], change) => {
        const seen = headIn[mode]
        const stands = { ...seen, ...change }
        await putHead(stands)
        const move = moveCases[name].make(seen)
        const wanted = movedBy(stands, move)
        const made = await journal.moveHead(move)
        // if the earlier head broke a rule already, the result reports it
        if (wanted === 'refused' && made !== 'refused') expect(told.at(-1)?.message).toBe(alarmingTexts.head)
        else expect(made).toEqual(wanted)
        counts[made === 'refused' ? 'refused' : 'made'] += 1
      },
    ),
    { numRuns: 250 },
  )
  expect(counts.made).toBeGreaterThan(50)
  expect(counts.refused).toBeGreaterThan(50)
})

describe('a journal head that breaks a rule', () => {
  const broken = { ...headIn.writing, applied: 12 }

  test('rejects moves, and every read reports the broken rule', async () => {
    await putHead(broken)
    expect(await journal.allocate(SECOND)).toBe('refused')
    expect(await journal.moveHead(headMoves.close(headIn.writing, '', 0))).toBe('refused')
    expect(told).toEqual([])
    expect(await journal.head()).toEqual(broken)
    expect(told).toMatchObject([{ message: alarmingTexts.head, rules: ['applied'], move: '' }])
  })

  test('cannot be created: the journal rejects the change without a call to DynamoDB, and logs the name of the broken rule', async () => {
    await putHead(headIn.writing)
    await storage.reset()
    expect(await journal.moveHead(headMoves.noteDense(headIn.writing, 12))).toBe('refused')
    const head = headMoves.takeOver({ ...headIn.closed, lineage: [[THIRD, 1]] }, SECOND)
    expect(await journal.transact([{ kind: 'head', head }])).toEqual({ condition: [0] })
    expect(await operations()).toEqual([])
    expect(told).toMatchObject([
      { message: alarmingTexts.head, rules: ['applied'], move: 'noteDense' },
      { message: alarmingTexts.head, rules: ['lineage'], move: 'takeOver' },
    ])
  })

  test('is reported when a move returns that head', async () => {
    await putHead({ ...headIn.writing, lineage: [[THIRD, 1]] })
    expect(await journal.allocate(SECOND)).toMatchObject({ seq: 10 })
    expect(told).toMatchObject([{ message: alarmingTexts.head, rules: ['lineage'], move: 'allocate' }])
  })
})

test.each([undefined, 0, 2])('a journal head of format %s is neither moved nor read', async format => {
  await putHead({ ...headIn.writing, format } as Partial<JournalHead>)
  await expect(journal.head()).rejects.toThrow('and this version knows format 1 only')
  expect(await journal.allocate(SECOND)).toBe('refused')
  expect(await journal.moveHead(headMoves.close(headIn.writing, '', 0))).toBe('refused')
})
