import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { switchPrimaryOver } from '../../infra/local/commands/drill/drill.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { promotionIn, type RunbookPair, startRunbookPair } from '../support/programs/runbook-pair.ts'
import { call } from '../support/service/api.ts'

// Runs the pages of a planned switch and the failback repeatedly in a real shell under load. Each round
// makes both clusters follow another primary with `update-primary`, and repeats the failback's block, as
// the page allows. Half of the rounds run on a busy machine. `ROUNDS=200 npm run test:long -- failback`

const ROUNDS = Number(process.env['ROUNDS'] ?? 4)
/** A hung round ends the test. On a quiet machine a round takes 15 s, on a busy one up to a minute. */
const ROUND_HUNG_MS = 10 * 60_000
const BUSY_PROGRAMS = 4 * availableParallelism()

let pair: RunbookPair
const busy: ChildProcess[] = []
beforeAll(async () => {
  pair = await startRunbookPair()
  const [prepare = ''] = blocksOf('README', 'Who may do it')
  await pair.shell.paste(prepare)
})
afterAll(async () => {
  endBusy()
  await pair?.close()
})

/** Uses a CPU until the test's process has ended. */
const BURNS = 'const { ppid } = process; while (process.ppid === ppid);'

/** Starts programs that use all CPUs. */
function startBusy(): void {
  for (let count = 0; count < BUSY_PROGRAMS; count++)
    busy.push(spawn(process.execPath, ['-e', BURNS], { stdio: 'ignore' }))
}
function endBusy(): void {
  for (const one of busy.splice(0)) one.kill('SIGKILL')
}

/** Returns the milliseconds that some work takes. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = Date.now()
  await work()
  return Date.now() - began
}

test(
  `${ROUNDS} switches and failbacks, half of them on a busy machine, complete without losses`,
  async () => {
    const { rehearsal, follow, shell } = pair
    const { east, west } = rehearsal
    const [, block = ''] = blocksOf('failback')
    for (let round = 1; round <= ROUNDS; round++) {
      if (round === Math.floor(ROUNDS / 2) + 1) startBusy()
      const there = await switchPrimaryOver(
        rehearsal,
        { from: east, to: west },
        {
          promote: () => follow('planned-switch', 0, promotionIn('planned-switch')),
          rejoin: () => follow('planned-switch', promotionIn('planned-switch')),
        },
      )
      let [took, again] = [0, 0]
      const back = await switchPrimaryOver(
        rehearsal,
        { from: west, to: east },
        {
          promote: () => follow('failback', 0, 1),
          rejoin: async () => {
            took = await timed(() => shell.paste(block))
            // acts as an operator who repeats the block under another ID
            again = await timed(() => shell.paste(block.replace(/^ID=west\b/, 'ID=west-2')))
          },
        },
      )
      expect([there.lost, back.lost], `round ${round}`).toEqual([[], []])
      expect([there.mostAtOnce, back.mostAtOnce], `round ${round}`).toEqual([1, 1])
      expect((await call(east.base_url, 'GET', '/sys/health')).status, `round ${round}`).toBe(200)
      const busyness = busy.length > 0 ? ', busy' : ''
      process.stdout.write(`round ${round}: the block took ${took} ms, asked again ${again} ms${busyness}\n`)
    }
  },
  ROUNDS * ROUND_HUNG_MS,
)
