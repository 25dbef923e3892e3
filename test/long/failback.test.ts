import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { switchOver } from '../../infra/local/commands/drill/drill.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { promotionIn, type RunbookPair, startRunbookPair } from '../support/programs/runbook-pair.ts'
import { call } from '../support/service/api.ts'

// The pages of a planned switch and of the way back, in a real shell, again and again, under load. Each round has both
// clusters follow another primary by `update-primary`, and repeats the block of the failback, as the page says it may be.
// Half of the rounds are on a machine that other programs keep busy. `ROUNDS=200 npm run test:long -- failback`

const ROUNDS = Number(process.env['ROUNDS'] ?? 4)
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

/** Takes a processor until the test's process has ended. */
const BURNS = 'const { ppid } = process; while (process.ppid === ppid);'

/** Starts programs that want all of the machine. */
function startBusy(): void {
  for (let count = 0; count < BUSY_PROGRAMS; count++)
    busy.push(spawn(process.execPath, ['-e', BURNS], { stdio: 'ignore' }))
}
function endBusy(): void {
  for (const one of busy.splice(0)) one.kill('SIGKILL')
}

/** Milliseconds that something takes. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = Date.now()
  await work()
  return Date.now() - began
}

test(`${ROUNDS} switches and ways back, half of them on a busy machine, lose nothing and end`, async () => {
  const { rehearsal, follow, shell } = pair
  const { east, west } = rehearsal
  const [, block = ''] = blocksOf('failback')
  for (let round = 1; round <= ROUNDS; round++) {
    if (round === Math.floor(ROUNDS / 2) + 1) startBusy()
    const there = await switchOver(
      rehearsal,
      { from: east, to: west },
      {
        promote: () => follow('planned-switch', 0, promotionIn('planned-switch')),
        rejoin: () => follow('planned-switch', promotionIn('planned-switch')),
      },
    )
    let [took, again] = [0, 0]
    const back = await switchOver(
      rehearsal,
      { from: west, to: east },
      {
        promote: () => follow('failback', 0, 1),
        rejoin: async () => {
          took = await timed(() => shell.paste(block))
          // as one who begins the block again, under another name
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
})
