import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  appendEpoch,
  bucketMarkText,
  compareLineages,
  epochAt,
  epochNumber,
  formatEpoch,
  isEpochTooFarAhead,
  type JournalLineage,
  MAX_EPOCH_LEAD,
  parsePosition,
  positionText,
} from '../../../shared/journal/position.ts'

const [a1, b2, a3] = ['000001.aaaaaaaaaaaa', '000002.bbbbbbbbbbbb', '000003.aaaaaaaaaaaa']
const positions = fc.record({
  epoch: fc
    .tuple(
      fc.oneof(fc.integer({ min: 1, max: 999_999 }), fc.integer({ min: 1, max: 999_999_999_999_999 })),
      fc.constantFrom('aaaaaaaaaaaa', 'bbbbbbbbbbbb'),
    )
    .map(([number, cluster]) => formatEpoch(number, cluster)),
  seq: fc.integer({ min: 0, max: 999_999_999_999 }),
})
const sign = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

describe('positions as texts', () => {
  test('the name of an epoch is its number and the end of its cluster’s id', () => {
    expect(formatEpoch(7, '0b5c2b6a-6b1e-4c57-8a5e-0123456789ab')).toBe('000007.0123456789ab')
    expect(epochNumber('000007.0123456789ab')).toBe(7)
    expect(epochNumber('')).toBe(0)
  })

  test('position texts have leading zeros, and marks begin with the incarnation', () => {
    expect(positionText({ epoch: a1, seq: 42 })).toBe('000001.aaaaaaaaaaaa/000000000042')
    expect(bucketMarkText(3, positionText({ epoch: a1, seq: 42 }))).toBe(
      '000000003/000001.aaaaaaaaaaaa/000000000042',
    )
  })

  test('position texts sort as positions do, and are parsed back', () => {
    fc.assert(
      fc.property(positions, positions, (a, b) => {
        expect(parsePosition(positionText(a))).toEqual(a)
        expect(sign(positionText(a), positionText(b))).toBe(
          sign(a.epoch, b.epoch) || Math.sign(a.seq - b.seq),
        )
      }),
    )
  })

  test('an epoch number of more than six digits is prefixed with a letter', () => {
    const cluster = '0b5c2b6a-6b1e-4c57-8a5e-0123456789ab'
    expect(formatEpoch(999_999, cluster)).toBe('999999.0123456789ab')
    expect(formatEpoch(1_000_000, cluster)).toBe('a1000000.0123456789ab')
    expect(formatEpoch(123_456_789_012_345, cluster)).toBe('i123456789012345.0123456789ab')
    expect(() => formatEpoch(1_000_000_000_000_000, cluster)).toThrow(
      'no higher epoch number is left: make a new DR set',
    )
  })

  test('an epoch number more than 1000 above the known one is too far ahead', () => {
    const cluster = '0b5c2b6a-6b1e-4c57-8a5e-0123456789ab'
    expect(isEpochTooFarAhead(formatEpoch(1 + MAX_EPOCH_LEAD, cluster), 1)).toBe(false)
    expect(isEpochTooFarAhead(formatEpoch(2 + MAX_EPOCH_LEAD, cluster), 1)).toBe(true)
  })

  test.each([
    ['1000000', 'a letter is missing'],
    ['a100000', 'six digits have none'],
    ['a0999999', 'a number has one name'],
    ['b1000000', 'the letter tells of another length'],
    ['j1234567890123456', 'too long'],
    ['', 'no number'],
  ])('%j does not begin an epoch name: %s', digits => {
    expect(() => parsePosition(`${digits}.0123456789ab/000000000001`)).toThrow('is not a journal position')
  })

  test('every mark of a higher incarnation sorts after every mark of a lower one', () => {
    fc.assert(
      fc.property(positions, positions, fc.nat(99_999), (a, b, incarnation) => {
        expect(
          bucketMarkText(incarnation, positionText(a)) < bucketMarkText(incarnation + 1, positionText(b)),
        ).toBe(true)
      }),
    )
  })

  test.each(['', '1/2', `${a1}/1`, `${a1}/0000000000001`, `${a1}x/000000000001`, ` ${a1}/000000000001`])(
    '%j is not parsed as a position',
    text => expect(() => parsePosition(text)).toThrow('is not a journal position'),
  )
})

describe('lineage', () => {
  const lineage: JournalLineage = [
    [a1, 1],
    [b2, 11],
    [a3, 21],
  ]

  test.each([
    [0, ''],
    [1, a1],
    [10, a1],
    [11, b2],
    [21, a3],
    [99, a3],
  ])('epochAt(%i) is "%s"', (seq, epoch) => expect(epochAt(lineage, seq)).toBe(epoch))

  test.each<[string, JournalLineage, JournalLineage, number, { forkPoint: number; diverged: boolean }]>([
    [
      'the own journal is behind in the same epoch',
      lineage,
      lineage.slice(0, 1),
      5,
      { forkPoint: 5, diverged: false },
    ],
    [
      'the own journal is behind by an epoch',
      lineage,
      lineage.slice(0, 2),
      15,
      { forkPoint: 15, diverged: false },
    ],
    [
      'the own journal ends where the source began its next epoch',
      lineage,
      lineage.slice(0, 1),
      10,
      { forkPoint: 10, diverged: false },
    ],
    [
      'the own journal continued an epoch that the source has ended',
      lineage,
      lineage.slice(0, 1),
      12,
      { forkPoint: 10, diverged: true },
    ],
    [
      'both continued the same epoch differently',
      lineage,
      [
        [a1, 1],
        ['000002.cccccccccccc', 8],
      ],
      30,
      { forkPoint: 7, diverged: true },
    ],
    ['no epoch in common', [[b2, 1]], [[a1, 1]], 3, { forkPoint: -1, diverged: true }],
    [
      'the source has dropped its first epochs',
      lineage.slice(1),
      lineage.slice(0, 2),
      15,
      { forkPoint: 15, diverged: false },
    ],
    ['the own journal has no epochs', lineage, [], 0, { forkPoint: -1, diverged: true }],
  ])('%s', (_, source, own, seq, expected) => {
    expect(compareLineages({ lineage: source }, { lineage: own, last: seq })).toEqual(expected)
  })

  test('compareLineages finds the last common position of any two journals', () => {
    const starts = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 4 })
    const grown = (
      from: JournalLineage,
      at: number,
      steps: readonly number[],
      cluster: string,
    ): JournalLineage => {
      let start = at
      return steps.reduce<JournalLineage>((all, step) => {
        start += step
        return appendEpoch(all, formatEpoch(all.length + 1, cluster), start)
      }, from)
    }
    fc.assert(
      fc.property(starts, starts, starts, fc.nat(20), (trunk, one, two, more) => {
        const stem = grown([[a1, 1]], 1, trunk, 'aaaaaaaaaaaa')
        const end = stem.at(-1)?.[1] ?? 1
        const source = grown(stem, end, one, 'bbbbbbbbbbbb')
        const own = grown(stem, end, two, 'cccccccccccc')
        const seq = (own.at(-1)?.[1] ?? 1) + more
        const { forkPoint, diverged } = compareLineages({ lineage: source }, { lineage: own, last: seq })
        for (let at = 1; at <= seq; at++)
          expect(at <= forkPoint).toBe(epochAt(source, at) === epochAt(own, at) && at <= forkPoint)
        expect(diverged).toBe(seq > forkPoint)
        expect(epochAt(source, forkPoint)).toBe(epochAt(own, forkPoint))
        if (diverged) expect(epochAt(source, forkPoint + 1)).not.toBe(epochAt(own, forkPoint + 1))
      }),
    )
  })

  test('a lineage keeps the last twelve epochs', () => {
    let long: JournalLineage = []
    for (let number = 1; number <= 20; number++)
      long = appendEpoch(long, formatEpoch(number, 'aaaaaaaaaaaa'), number)
    expect(long).toHaveLength(12)
    expect(long.at(-1)?.[1]).toBe(20)
  })
})
