import { beforeEach, expect, test } from 'vitest'
import { warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests that a request returns the current root of the hash tree, without waiting for the paced refresh.

const MINUTE = 60_000
const R = '/sys/replication'
const from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
let set: ClusterSet

beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { from, memory: true })
})

const write = (name: string) =>
  set.at('east').ok('POST', `/sys/policies/acl/${name}`, { policy: 'path "a" {}' })
const rootOf = async (name: 'east' | 'west') => {
  const reply =
    name === 'east'
      ? await set.at(name).ok('POST', `${R}/merkle-root`)
      : await set.at(name).ok('POST', `${R}/dr/secondary/merkle-root`, { dr_operation_token: from.operator })
  return reply.body.data
}

test('primary and secondary compute the same Merkle root at the same journal position immediately', async () => {
  await write('new')
  await set.converge()
  const [east, west] = [await rootOf('east'), await rootOf('west')]
  expect(east.merkle_root).toMatch(/^[0-9a-f]{40}$/)
  expect([west.merkle_root, west.merkle_root_at]).toEqual([east.merkle_root, east.merkle_root_at])
  expect(east.merkle_root_at).toBe((await set.at('east').head()).last)
  const { body } = await set.at('east').ok('GET', `${R}/dr/status`)
  expect(body.data).toMatchObject(east)
})

test('a Merkle root that is less than a minute old is returned unchanged', async () => {
  await set.converge()
  const first = await rootOf('east')
  await write('later')
  set.pass(MINUTE - 1000)
  expect(await rootOf('east')).toEqual(first)
  set.pass(1000)
  const next = await rootOf('east')
  expect(next.merkle_root).not.toBe(first.merkle_root)
  expect(next.merkle_root_at).toBeGreaterThan(first.merkle_root_at)
})
