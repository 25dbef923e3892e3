import { describe, expect, test } from 'vitest'
import { nextOfPair } from '../../../../../infra/local/pair/joining.ts'

type Seen = Parameters<typeof nextOfPair>[0]['east']

const OTHER = 'http://127.0.0.1:10001'
const seen = (given: Partial<Seen> & { mode: string }): Seen => ({
  state: 'running',
  isBuilding: false,
  connection: '',
  primary: '',
  ...given,
})
const primary = seen({ mode: 'primary' })
const disabled = seen({ mode: 'disabled', state: '' })
const following = seen({ mode: 'secondary', state: 'stream-wals', connection: 'ready', primary: OTHER })
const alone = seen({ mode: 'secondary', state: 'idle', connection: 'idle' })
const silent = seen({ mode: 'secondary', state: 'idle', connection: 'transient_failure', primary: OTHER })
const starting = seen({ mode: 'bootstrapping', state: 'idle' })

const [asTheyWere, turned] = [
  { primary: 'east', secondary: 'west' },
  { primary: 'west', secondary: 'east' },
]

describe('what a pair does next', () => {
  test.each([
    ['neither is of a set', disabled, disabled, { do: 'enable', primary: 'east' }],
    ['the other is of none', primary, disabled, { do: 'admit', ...asTheyWere }],
    ['the first was put up anew', disabled, primary, { do: 'admit', ...turned }],
    ['one follows the other', primary, following, { do: 'nothing', ...asTheyWere }],
    ['after a switch', following, primary, { do: 'nothing', ...turned }],
    ['after a disaster: the old primary has closed', alone, primary, { do: 'follow', ...turned }],
  ])('%s', (_, east, west, expected) => {
    expect(nextOfPair({ east, west })).toEqual(expected)
  })

  test.each([
    ['a journal is built', seen({ mode: 'primary', isBuilding: true }), disabled, 60, 'leave'],
    ['a journal is opened', seen({ mode: 'primary', state: 'idle' }), following, 60, 'leave'],
    ['an activation was broken off', primary, starting, 90, 'leave'],
    ['both were killed as primaries', primary, primary, 70, 'leave'],
    ['a secondary has not heard of its primary yet', primary, silent, 40, 'follow'],
    ['a secondary fetches', primary, { ...following, state: 'merkle-sync' }, 90, 'leave'],
    ['a promotion was broken off', following, alone, 30, 'leave'],
    ['a secondary has lost its primary for good', disabled, silent, 30, 'leave'],
  ])('waits for what goes on by itself: %s', (_, east, west, seconds, otherwise) => {
    expect(nextOfPair({ east, west })).toMatchObject({ do: 'wait', seconds, otherwise: { do: otherwise } })
  })

  test('who shall serve is left to operators, in words', () => {
    const { otherwise } = nextOfPair({ east: alone, west: following }) as { otherwise: object }
    expect(otherwise).toEqual({
      do: 'leave',
      why: 'Nobody serves: both are secondaries. Promote the one that shall (below), then start the pair again.',
    })
  })
})
