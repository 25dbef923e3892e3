import { describe, expect, test } from 'vitest'
import type { Place } from '../../../../shared/journal/journal.ts'
import type { DivergingKey } from '../../../../shared/model/secondary.ts'
import {
  afterRound,
  divergingOf,
  isGivenUp,
  placesOf,
  tagOf,
} from '../../../../shared/replication/secondary/diverging.ts'

const HOUR = 3_600_000
const at = (sk: string): Place => ({ kind: 'policy', pk: 'policy', sk })
const names = (places: readonly { sk: string }[]) => places.map(({ sk }) => sk).sort()

/** Rounds, a minute after each other. */
function played(rounds: readonly (readonly string[])[], pause = 60_000) {
  let keys: DivergingKey[] = []
  return rounds.map((wrong, index) => {
    const round = afterRound(keys, wrong.map(at), index * pause)
    keys = round.keys
    return { fallen: names(round.fallen), left: names(round.left), tooMany: round.tooMany, keys }
  })
}

describe('a key that is found wrong', () => {
  test('is fetched three times, then given up, once', () => {
    const rounds = played(Array.from({ length: 5 }, () => ['x']))
    expect(rounds.map(({ left }) => left)).toEqual([['x'], ['x'], ['x'], [], []])
    expect(rounds.map(({ fallen }) => fallen)).toEqual([[], [], [], ['x'], []])
  })

  test('is counted by itself: others that are found with it later have their own three', () => {
    const rounds = played([['x'], ['x'], ['x', 'y'], ['x', 'y'], ['x', 'y']])
    expect(rounds.map(({ left }) => left)).toEqual([['x'], ['x'], ['x', 'y'], ['y'], ['y']])
    expect(rounds.flatMap(({ fallen }) => fallen)).toEqual(['x'])
    expect(
      rounds.some(({ tooMany }) => tooMany),
      'and one that is given up is not too many',
    ).toBe(false)
  })

  test('falls once: what is found later does not name it again', () => {
    const rounds = played([['x'], ['x'], ['x'], ['x'], ['y']])
    expect(rounds.map(({ fallen }) => fallen)).toEqual([[], [], [], ['x'], []])
  })

  test('that is given up stays known, however many others are found after it', () => {
    const [, , , last] = played([['x'], ['x'], ['x'], ['x']])
    const others = Array.from({ length: 200 }, (_, index) => at(`k${index}`))
    const first = afterRound([], others, 0).keys
    const { keys } = afterRound([...first, ...(last?.keys ?? [])], [], 1000)
    expect([keys.length, keys[0]?.sk]).toEqual([200, 'x'])
  })

  test('begins anew after an hour without, unless it was given up', () => {
    expect(played([['x'], ['x'], ['x'], ['x']], HOUR).map(({ left }) => left)).toEqual([
      ['x'],
      ['x'],
      ['x'],
      ['x'],
    ])
    const [, , , last] = played([['x'], ['x'], ['x'], ['x']])
    const later = afterRound(last?.keys ?? [], [at('y')], 10 * HOUR)
    expect(later.keys.filter(isGivenUp).map(({ sk }) => sk)).toEqual(['x'])
  })

  test('is one of too many where two hundred others have been given up', () => {
    const many = Array.from({ length: 201 }, (_, index) => `k${String(index).padStart(3, '0')}`)
    const rounds = played([many, many, many, many])
    expect(rounds.map(({ tooMany }) => tooMany)).toEqual([false, false, false, true])
    expect(rounds[3]?.keys).toHaveLength(200)
    expect(played([many.slice(1), many.slice(1), many.slice(1), many.slice(1)])[3]).toMatchObject({
      tooMany: false,
      left: [],
    })
  })
})

test('what was found by another link, or in another tree, is not of these', () => {
  const keys: DivergingKey[] = [{ ...at('x'), rounds: 1, at: 0 }]
  const data = { treeId: 'a life', link: 'a link', keys }
  expect(divergingOf({ data }, { treeId: 'a life', link: 'a link' })).toEqual(keys)
  expect(divergingOf({ data }, { treeId: 'another', link: 'a link' })).toEqual([])
  expect(divergingOf({ data }, { treeId: 'a life', link: undefined })).toEqual([])
  expect(divergingOf({ data: { ...data, link: '' } }, { treeId: 'a life', link: undefined })).toEqual(keys)
})

test('keys of kinds that this version does not know are no places', () => {
  const unknown = { kind: 'of-the-future', pk: 'a', sk: 'b', rounds: 1, at: 0 }
  expect(placesOf([{ ...at('x'), rounds: 1, at: 0 }, unknown])).toEqual([at('x')])
})

test('the short name of a key tells its kind, and nothing of what it names', () => {
  expect(tagOf(at('secret-team'))).toMatch(/^policy [0-9a-f]{12}$/)
  expect(tagOf(at('a'))).not.toBe(tagOf(at('b')))
})
