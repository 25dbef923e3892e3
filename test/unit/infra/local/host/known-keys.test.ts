import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { initialiseCluster, type SetKeys } from '../../../../../infra/local/host/initialise.ts'
import { startKnownClusterKeys } from '../../../../../infra/local/host/known-keys.ts'
import { newRecoveryKey } from '../../../../../shared/cluster/recovery.ts'
import type { RecoveryKey } from '../../../../../shared/model/cluster.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(`${tmpdir()}/cloud-auth-keys-`)
})
afterEach(() => rmSync(directory, { recursive: true }))

function made() {
  const { item, shares } = newRecoveryKey({ shares: 5, threshold: 3 }, { random: randomBytes, now: 0 })
  return { item, shares: shares.map(share => share.toString('hex')) }
}
const [first, second, abandoned] = [made(), made(), made()]
const answer = (shares: string[], pgp_fingerprints: string[] | null = null) => ({
  statusCode: 200,
  body: JSON.stringify({ data: { keys: shares, pgp_fingerprints } }),
})

/** Starts a host whose cluster has a recovery key that the test replaces. */
async function started(kept: SetKeys = { root_token: 'root', recovery_keys: first.shares }) {
  const cluster: { stored: RecoveryKey | undefined } = { stored: first.item }
  const changes: SetKeys[] = []
  const readStored = async () => cluster.stored
  const keys = await startKnownClusterKeys({
    directory,
    kept,
    readStored,
    onChange: one => changes.push(one),
  })
  onTestFinished(keys.close)
  return { cluster, changes, keys, shares: () => keys.present().recovery_keys }
}
/** Returns the keys that the host reads at its next start. */
const keptKeys = async () => {
  vi.stubGlobal('fetch', async () => new Response('', { status: 400 }))
  onTestFinished(() => void vi.unstubAllGlobals())
  return initialiseCluster('http://127.0.0.1', directory)
}

test('the host publishes new shares once the cluster accepts them, not while they are unverified', async () => {
  const { cluster, changes, keys, shares } = await started()
  await keys.readAnswer(answer(abandoned.shares))
  await keys.readAnswer(answer(second.shares))
  expect(shares()).toEqual(first.shares)
  cluster.stored = second.item
  await keys.readAnswer({ statusCode: 200, body: '{"data":{"complete":true}}' })
  expect(shares()).toEqual(second.shares)
  expect(changes).toEqual([{ root_token: 'root', recovery_keys: second.shares }])
})

test('the host stops publishing invalid shares, even before it has seen the new shares', async () => {
  const { cluster, keys, shares } = await started()
  await keys.readAnswer(answer(second.shares, ['ab'.repeat(20)]))
  cluster.stored = second.item
  await keys.readAnswer(undefined)
  expect(shares()).toEqual([])
  await keys.adopt({ root_token: 'root', recovery_keys: second.shares })
  expect(shares()).toEqual(second.shares)
})

test("a secondary's host publishes the shares that the secondary accepts until the secondary has applied the rekey", async () => {
  const { cluster, keys, shares } = await started()
  await keys.adopt({ root_token: 'root of the set', recovery_keys: second.shares })
  expect(keys.present()).toEqual({ root_token: 'root of the set', recovery_keys: first.shares })
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const later = await started()
  await later.keys.adopt({ root_token: 'root', recovery_keys: second.shares })
  later.cluster.stored = second.item
  await vi.advanceTimersByTimeAsync(5000)
  expect(later.shares()).toEqual(second.shares)
  cluster.stored = undefined
  expect(shares()).toEqual(first.shares)
})

test('the next start of a host knows every set of shares that was seen or that an operator wrote down', async () => {
  const { cluster, keys } = await started()
  await keys.readAnswer(answer(second.shares))
  const again = await started(await keptKeys())
  again.cluster.stored = second.item
  await again.keys.readAnswer(undefined)
  expect(again.shares()).toEqual(second.shares)
  cluster.stored = second.item
  writeFileSync(
    `${directory}/keys.json`,
    JSON.stringify({ root_token: 'root', recovery_keys: abandoned.shares }),
  )
  const written = await started(await keptKeys())
  written.cluster.stored = abandoned.item
  await written.keys.readAnswer(undefined)
  expect(written.shares()).toEqual(abandoned.shares)
})

test('a host keeps the eight newest sets of shares, and the accepted set of any age', async () => {
  const { cluster, keys, shares } = await started()
  const sets = Array.from({ length: 9 }, made)
  for (const one of sets) await keys.readAnswer(answer(one.shares))
  expect(shares()).toEqual(first.shares)
  const { other_recovery_keys } = JSON.parse(readFileSync(`${directory}/keys.json`, 'utf8'))
  expect(other_recovery_keys).toHaveLength(7)
  cluster.stored = sets.at(-1)?.item
  await keys.readAnswer(undefined)
  expect(shares()).toEqual(sets.at(-1)?.shares)
})
