import { beforeAll, describe, expect, test } from 'vitest'
import { sized } from '../../../support/runner/size.ts'
import { play, type Warm, warmSnapshot } from '../../../support/set/play.ts'

// Random sequences of what administrators, clients, networks and processes do, on the real code. `SEED=7` plays one of
// them again (`SEED=7,8` two), `GAMES=10000` many. Tables in memory are much cheaper, and every tenth game is played on the engine
// (`ENGINE=real`: all; `ENGINE=memory`: none).

const { SEED, GAMES = sized(10, 300), FROM = 1, LENGTH = sized(15, 60), ENGINE } = process.env
const seeds = SEED
  ? SEED.split(',').map(Number)
  : Array.from({ length: Number(GAMES) }, (_, index) => Number(FROM) + index)

const memory = (seed: number): boolean => ENGINE === 'memory' || (ENGINE !== 'real' && seed % 10 !== 0)
let from: Warm

beforeAll(async () => {
  // a number stands for the same game only where all begin from the same, and nothing is loaded while it is played
  await play(0, await warmSnapshot({ memory: true }), { length: 40, memory: true })
  from = await warmSnapshot({ memory: ENGINE !== 'real' })
})

describe('a random sequence of actions breaks no invariant', () => {
  test.each(seeds)('SEED=%i', async seed => {
    const { violations, acts } = await play(seed, from, { length: Number(LENGTH), memory: memory(seed) })
    expect(violations, `SEED=${seed}: ${acts.join(' ')}`).toEqual([])
  })
})
