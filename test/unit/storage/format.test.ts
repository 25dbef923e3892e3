import { describe, expect, test } from 'vitest'
import { buildHeadUpdate, parseJournalHead } from '../../../shared/adapters/aws/storage/head.ts'
import { headMoves } from '../../../shared/journal/transitions.ts'
import { STORED_FORMAT } from '../../../shared/storage/format.ts'
import { type Kind, key } from '../../../shared/storage/kinds.ts'
import { fromStoredItem, type StoredItem, toStoredItem } from '../../../shared/storage/requests.ts'
import { headIn } from '../../builders/head-moves.ts'

const others: [format: number | undefined, named: string][] = [
  [undefined, 'no format'],
  [0, 'format 0'],
  [2, 'format 2'],
]

const refusal = (what: string, named: string) =>
  expect.objectContaining({
    code: 'unknown_format',
    message: `the ${what} has ${named}, and this version knows format 1 only; deploy the version that stored the item; nothing has been changed`,
  })

describe('a cluster record', () => {
  const stored = toStoredItem(
    { key: key('cluster'), data: { id: 'c', keyringEdition: 1 } as never, times: {} },
    'r',
  )

  test('the record is stored with the format of this version, and read without the format', () => {
    expect(stored.format).toBe(STORED_FORMAT)
    expect(fromStoredItem('cluster', stored, 0)?.data).toEqual({ id: 'c', keyringEdition: 1 })
  })

  test.each(others)('a record of format %s is refused by name', (format, named) => {
    const { format: _, ...rest } = stored
    const other: StoredItem = { ...rest, ...(format === undefined ? {} : { format }) }
    expect(() => fromStoredItem('cluster', other, 0)).toThrow(refusal('cluster record', named))
  })

  test('items of other kinds, for example policies, have no format', () => {
    const policy = toStoredItem({ key: key('policy', 'p'), data: { text: '' }, times: {} }, 'r')
    expect(policy).not.toHaveProperty('format')
  })
})

describe('attributes that this version requires', () => {
  const recovery = { shares: 1, threshold: 1, verifier: 'v', shareHashes: ['h'], since: 0 }
  const rows: [kind: Kind, data: object, missing: string][] = [
    ['cluster', { id: 'c' }, 'keyringEdition'],
    ['recovery-key', { ...recovery, shareHashes: undefined }, 'shareHashes'],
    ['recovery-key', { shares: 1, threshold: 1, key: 'x' }, 'verifier'],
    ['term', { number: 1, since: 0, probe: 'p' }, 'signers'],
    ['keyring', { id: 'k', activeTerm: 't', termIds: [], highestTerm: 1 }, 'edition'],
    ['keyring', { id: 'k', edition: 1, termIds: [], highestTerm: 1 }, 'activeTerm'],
    ['secondary', { id: 'west' }, 'epoch'],
  ]

  test.each(rows)(
    'the error names the missing attribute when a %s (%j) lacks it: %s',
    (kind, data, missing) => {
      const stored = { kind, pk: 'p', sk: 's', rev: 'r', data, format: STORED_FORMAT }
      expect(() => fromStoredItem(kind, stored, 0)).toThrow(
        expect.objectContaining({
          code: 'unknown_format',
          message: `the stored ${kind} has no ${missing}, and this version relies on it; deploy the version that stored the item; nothing has been changed`,
        }),
      )
    },
  )
})

describe('a journal head', () => {
  const { mode: _, ...fields } = headIn.writing
  const stored = { pk: 'journal', sk: 'head', kind: 'head', mode: 'writing', ...fields }

  test('the head is stored with the format of this version, and read without the format', () => {
    const { UpdateExpression, ExpressionAttributeNames } = buildHeadUpdate(
      headMoves.startEmpty(undefined, 'a link'),
    )
    expect(ExpressionAttributeNames).toMatchObject({ '#format': 'format' })
    expect(UpdateExpression).toContain('#format = ')
    expect(parseJournalHead({ ...stored, format: STORED_FORMAT })).toEqual(headIn.writing)
  })

  test.each(others)('a head of format %s is refused by name', (format, named) =>
    expect(() => parseJournalHead({ ...stored, format })).toThrow(refusal('journal head', named)),
  )

  test('a head of another format is not moved, because the condition of every update names the format', () => {
    const { ConditionExpression } = buildHeadUpdate(headMoves.allocate({ epoch: headIn.writing.epoch }))
    expect(ConditionExpression).toMatch(/^#format = :v\d+ AND /)
  })
})
