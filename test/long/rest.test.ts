import { expect, test } from 'vitest'
import {
  clusterCosts,
  hashCosts,
  pairCosts,
  standingCosts,
  standingCostsOfCluster,
  sumOf,
} from '../bench/pair-costs.ts'
import { warmSnapshot } from '../support/set/play.ts'
import { type RecordedPair, recordPair } from '../support/set/recorded-calls.ts'
import { type ClusterSet, clusterSet } from '../support/set/set.ts'
import type { SetSnapshot } from '../support/set/snapshot.ts'

// Measures the calls of a pair in a minute at rest and at N logins a second, with prices: `npm run bench --
// --cost N`.

const line = (...entries: (string | number)[]): void => {
  const [name = '', ...rest] = entries.map(one => (typeof one === 'number' ? one.toFixed(2) : one))
  process.stdout.write(`  ${name.padEnd(26)}${rest.map(one => one.padStart(12)).join('')}\n`)
}

function printCalls(title: string, { link, functions, hashes }: RecordedPair): void {
  process.stdout.write(`\n${title}, a minute (the secondary of a pair is west)\n`)
  line('', 'runs', 'calls', 'read units', 'write units')
  for (const [name, { invocations, calls, reads, writes }] of Object.entries(functions))
    line(name, invocations, calls, reads, writes)
  for (const [method, count] of Object.entries(link)) line(`link ${method}`, count)
  line('refreshes of hashes', hashes.refreshes)
  line('pages of refreshes', hashes.pages)
}

function printCosts(title: string, costs: Record<string, number>): void {
  process.stdout.write(`\n${title}, USD a month (test/support/prices/price-list.ts)\n`)
  for (const [what, usd] of Object.entries(costs)) line(what, usd)
  line('sum', sumOf(costs))
}

const warm = () => warmSnapshot({ memory: true, names: ['east', 'west'] })

test('a pair at rest costs at most 20 USD a month, including key, alarms and metrics', async () => {
  const rest = await recordPair(await warm(), { minutes: 10 })
  const costs = { ...pairCosts(rest), ...standingCosts('idle') }
  printCalls('A pair at rest', rest)
  printCosts('A pair at rest', costs)
  expect(sumOf(costs)).toBeLessThanOrEqual(20)
})

/** Takes a snapshot of one initialised cluster without replication. */
async function alone(): Promise<SetSnapshot> {
  const set = await clusterSet(['east'], { memory: true })
  const snapshot = await set.snapshot()
  await set.drop()
  return snapshot
}

test('one cluster at rest costs at most 8 USD a month, including key, alarms and metrics', async () => {
  const rest = await recordPair(await alone(), { names: ['east'], minutes: 10 })
  const costs = { ...clusterCosts(rest), ...standingCostsOfCluster() }
  printCalls('One cluster at rest', rest)
  printCosts('One cluster at rest', costs)
  expect(sumOf(costs)).toBeLessThanOrEqual(8)
})

const LOGINS_A_SECOND = Number(process.env['LOGINS_A_SECOND'] ?? 10)
/** USD a month. Above ten logins a second the limit grows in proportion. */
const MAX_HASH_COST = 1.5 * Math.max(10, LOGINS_A_SECOND)
const MINUTES = 10

/** Writes tokens as iam logins do. */
async function logIn(set: ClusterSet): Promise<void> {
  const all: Promise<unknown>[] = []
  for (let count = 0; count < LOGINS_A_SECOND * MINUTES * 60; count++) {
    all.push(set.at('east').ok('POST', '/auth/token/create', { ttl: '1h', no_parent: true }))
    await set.clock.sleep(1000 / LOGINS_A_SECOND)
  }
  await Promise.all(all)
}

test(`at ${LOGINS_A_SECOND} logins a second the hashes of both clusters cost at most ${MAX_HASH_COST} USD a month`, {
  timeout: 1_800_000,
}, async () => {
  const busy = await recordPair(await warm(), {
    minutes: MINUTES,
    beside: logIn,
  })
  const hashes = hashCosts(busy.hashes)
  const costs = { ...pairCosts(busy), ...standingCosts('usual') }
  printCalls(`${LOGINS_A_SECOND} logins a second`, busy)
  printCosts('Hashes of the tree of both clusters', hashes)
  printCosts(`${LOGINS_A_SECOND} logins a second`, costs)
  line('for a million logins', (sumOf(costs) / (LOGINS_A_SECOND * 60 * 43_800)) * 1e6)
  expect(sumOf(hashes)).toBeLessThanOrEqual(MAX_HASH_COST)
})
