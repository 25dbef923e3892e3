import { beforeAll, describe, expect, test } from 'vitest'
import { play, type Warm, warmSnapshot } from '../../support/set/play.ts'
import { sized } from '../../support/size.ts'

// Random sequences of what administrators, clients, networks and processes do, on the real code. `SEED=7` plays one of
// them again, `GAMES=10000` many.

const { SEED, GAMES = sized(30, 300), FROM = 1 } = process.env
const seeds = SEED
  ? [Number(SEED)]
  : Array.from({ length: Number(GAMES) }, (_, index) => Number(FROM) + index)

/** Actions in a game. */
const LENGTH = 25
let from: Warm

beforeAll(async () => {
  from = await warmSnapshot()
})

describe('a random sequence of actions breaks no invariant', () => {
  test.each(seeds)('SEED=%i', async seed => {
    const { violations, acts } = await play(seed, from, LENGTH)
    expect(violations, `SEED=${seed}: ${acts.join(' ')}`).toEqual([])
  })
})
