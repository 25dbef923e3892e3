import { expect, test } from 'vitest'
import { type ClusterRecord, createEmptyLink } from '../../../shared/model/cluster.ts'
import { putItem } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { listSuccessorTokenSigners } from '../../../shared/tokens/successor-signers.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'

const link = createEmptyLink('' as EncryptedText)
const CLOSED: Pick<ClusterRecord, 'mode' | 'link'> = { mode: 'secondary', link }

/** Builds a cluster that West has fenced, with West's signers. */
async function fencedByWest() {
  const { store } = memoryStore()
  const signers = [
    { term: 'a', key: 'of a' },
    { term: 'b', key: 'of b' },
  ]
  const west = { statements: [], addresses: [], key: 'k', claimed: 'e', signers }
  await store.commit([putItem(key('member', 'west'), west)])
  await store.commit([putItem(key('member', 'north'), { statements: [], addresses: [] })])
  return store
}

test('signers of a term count on a fenced cluster that follows no primary', async () => {
  const store = await fencedByWest()
  expect(await listSuccessorTokenSigners('a', CLOSED, { store })).toEqual([{ cluster: 'west', key: 'of a' }])
  expect(await listSuccessorTokenSigners('c', CLOSED, { store })).toEqual([])
})

test.each<[string, Pick<ClusterRecord, 'mode' | 'link'>]>([
  ['follows a primary', { mode: 'secondary', link: { ...link, primaryKey: 'p' } }],
  ['is a primary', { mode: 'primary', link }],
  ['is in no set', { mode: 'disabled' }],
])('signers of a term do not count on a cluster that %s', async (_, record) => {
  expect(await listSuccessorTokenSigners('a', record, { store: await fencedByWest() })).toEqual([])
})

test('signers of a revoked cluster do not count', async () => {
  const store = await fencedByWest()
  const revoked = { at: 1, epoch: '000001.aaaaaaaaaaaa' }
  await store.commit([putItem(key('holder', 'west'), { name: 'west', at: 1, revoked })])
  expect(await listSuccessorTokenSigners('a', CLOSED, { store })).toEqual([])
})
