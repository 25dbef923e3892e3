import { cpus } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { watchClusterHealth } from '../../../infra/local/commands/drill/health.ts'
import { createLoginProof } from '../../../infra/local/commands/start/demonstration.ts'
import { waitUntilPairSettled } from '../../../infra/local/pair/pair.ts'
import { chanceFrom } from '../../support/set/chance.ts'
import { changeRole } from './change-role.ts'
import { type SoakSet, startSoakSet } from './soak-set.ts'

// Runs two clusters under load, with faults and role changes. Variables: MINUTES (60), RATE (20 logins a
// second), PLANNED and FORCED (minutes between planned switches, 5, and between promotions by force, 15),
// SEED (1). `npm run test:long -- soak`

const variable = (name: string, usual: number): number => Number(process.env[name] ?? usual)
const [minutes, rate, seed] = [variable('MINUTES', 60), variable('RATE', 20), variable('SEED', 1)]
const [planned, forced] = [variable('PLANNED', 5), variable('FORCED', 15)]

const MINUTE_MS = 60_000
/** A slow machine needs minutes for the last change and until both clusters are equal. */
const REST_MINUTES = 15
/**
 * Milliseconds after which the login proof is replaced, because its signature is valid for a quarter of an
 * hour.
 */
const PROOF_MS = 5 * MINUTE_MS
const SAMPLE_MS = 5000

/** Limit of the memory in the last quarter of the time, as a multiple of the memory in the second quarter. */
const MAX_GROWTH = 1.25
/** Minimum number of samples. With fewer samples the test does not judge memory. */
const MIN_SAMPLES = 40

const print = (text: string): void => void process.stdout.write(`${text}\n`)

/** Checks that only one cluster serves, until the returned function is called. */
function watchServing({ primary, secondary }: SoakSet): () => Promise<void> {
  const watch = watchClusterHealth([primary, secondary])
  return async () => {
    const { mostAtOnce, witness } = await watch()
    expect.soft(mostAtOnce, `clusters that served at once: ${witness}`).toBeLessThanOrEqual(1)
  }
}

/**
 * Changes the roles of the clusters at planned times. Every `forced` minutes the promotion is by force. Skips
 * role changes when the time is over.
 */
async function changeRoles(set: SoakSet): Promise<void> {
  const begun = Date.now()
  const sleepUntil = (minute: number) => setTimeout(Math.max(0, begun + minute * MINUTE_MS - Date.now()))
  let endWatch = watchServing(set)
  for (let at = planned; at < minutes; at += planned) {
    await sleepUntil(at)
    if (Date.now() > begun + minutes * MINUTE_MS) {
      print(`minute ${at}: left out, because the machine was too slow`)
      continue
    }
    const isForced = Math.floor(at / forced) > Math.floor((at - planned) / forced)
    // during a disaster both clusters may serve for a moment
    if (isForced) await endWatch()
    const { kind, report } = await changeRole(set, isForced ? 'forced' : 'planned')
    if (kind === 'planned') await endWatch()
    print(`minute ${at}: ${report}; so far ${JSON.stringify(set.load.counts)}, ${mebibytes()} MiB`)
    endWatch = watchServing(set)
  }
  await sleepUntil(minutes)
  await endWatch()
}

const mebibytes = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20)

/** Returns the medians of samples in the quarters of the time. */
const quartersOf = (samples: readonly number[]): number[] =>
  [0, 1, 2, 3].map(quarter => {
    const part = samples.slice((quarter * samples.length) / 4, ((quarter + 1) * samples.length) / 4)
    return part.sort((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0
  })

test(`${minutes} minutes of ${rate} logins a second with faults (seed ${seed}) and changes of role complete without losses`, {
  timeout: (minutes + REST_MINUTES) * MINUTE_MS,
}, async () => {
  print(`${minutes} minutes, ${rate} logins a second, ${cpus().length} processors, seed ${seed}`)
  const set = await startSoakSet(rate, chanceFrom(seed), print)
  onTestFinished(set.close)
  const { load, weather } = set
  const memory: number[] = []
  const sampling = setInterval(() => memory.push(mebibytes()), SAMPLE_MS)
  const renewing = setInterval(() => {
    // a failed renewal is repeated in time, because the old proof is still valid
    void createLoginProof(set.primary).then(load.use, () => undefined)
  }, PROOF_MS)
  try {
    await changeRoles(set)
  } finally {
    clearInterval(sampling)
    clearInterval(renewing)
    await weather.end()
    await load.end()
  }
  const { east } = await waitUntilPairSettled({ east: set.primary, west: set.secondary })
  const quarters = quartersOf(memory)
  print(`both clusters are at position ${east.position} with root ${east.root}
logins ${JSON.stringify(load.counts)}, faults ${JSON.stringify(weather.counts)}
memory ${quarters.join(', ')} MiB in the quarters of the time (the process of both clusters)`)
  expect.soft(load.counts.logins).toBeGreaterThan(0)
  const [, before = 0, , after = 0] = quarters
  if (memory.length >= MIN_SAMPLES)
    expect.soft(after / before, 'growth of memory').toBeLessThanOrEqual(MAX_GROWTH)
})
