import { beforeAll, describe, expect, test } from 'vitest'
import { sized } from '../../../support/runner/size.ts'
import { play, type Warm, warmSnapshot } from '../../../support/set/play.ts'

// Plays random actions of administrators, clients, networks and processes on the real code. `SEED=7` repeats
// a game (`SEED=7,8` two), `GAMES=10000` plays many. Most games use tables in memory, which are much faster;
// every tenth uses the engine (`ENGINE=real`: all games; `ENGINE=memory`: no game).

const { SEED, GAMES = sized(10, 300), FROM = 1, LENGTH = sized(15, 60), ENGINE } = process.env
const seeds = SEED
  ? SEED.split(',').map(Number)
  : Array.from({ length: Number(GAMES) }, (_, index) => Number(FROM) + index)

const memory = (seed: number): boolean => ENGINE === 'memory' || (ENGINE !== 'real' && seed % 10 !== 0)
let from: Warm

beforeAll(async () => {
  // a seed gives the same game only if all modules are loaded before it begins
  await play(0, await warmSnapshot({ memory: true }), { length: 40, memory: true })
  from = await warmSnapshot({ memory: ENGINE !== 'real' })
})

describe('a random sequence of actions keeps all invariants', () => {
  test.each(seeds)('SEED=%i', async seed => {
    const { violations, acts } = await play(seed, from, { length: Number(LENGTH), memory: memory(seed) })
    expect(violations, `SEED=${seed}: ${acts.join(' ')}`).toEqual([])
  })
})
