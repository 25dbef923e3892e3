import * as v from 'valibot'
import { afterEach, describe, expect, test } from 'vitest'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import { createItem, putItem, replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { api, cluster, storage } from '../../../support/service/cluster.ts'
import { drStatus } from '../../../support/set/dr-status.ts'
import { tableStore } from '../../../support/tables/store.ts'

const { store, journal, commit } = tableStore(cluster)
/** a time that stays recent however long the answer takes */
const HEARD = Date.now() + 3_600_000
const EPOCH = '000001.0123456789ab'
const PATHS = ['/sys/replication/dr/status', '/sys/replication/status']

async function become(parts: Partial<ClusterRecord>): Promise<void> {
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('there is no cluster record')
  await commit(replaceItem(item, item, { ...item.data, ...parts }))
}

const status = async () => {
  const { body } = await api('GET', '/sys/replication/dr/status', undefined, { token: '' })
  expect(body.mode).toBe(body.data.mode)
  return v.parse(drStatus, body.data)
}

/** Returns the table calls that serving a path costs. */
async function costOf(path: string): Promise<string[]> {
  await storage.reset()
  await api('GET', path, undefined, { token: '' })
  return (await storage.calls()).map(call => call.operation)
}

afterEach(() => become({ mode: 'disabled' }))

const root = (sk: 'replicated' | 'local', hash: string) =>
  journal.putPageHash('t#life-1#root', sk, { hash, asOf: `${EPOCH}/000000000001` })

describe('the status of replication', () => {
  test('of a primary and its secondaries costs one batch read and three concurrent queries', async () => {
    await journal.moveHead(headMoves.begin(undefined, EPOCH))
    await journal.allocate(EPOCH)
    await Promise.all([root('replicated', 'one'), root('local', 'two')])
    const nobody = {
      expires: 0,
      jti: 'h',
      lastCallTime: 0,
      address: '',
      apiAddress: '',
      version: '',
      epoch: EPOCH,
    }
    await commit(
      createItem(key('secondary', 'b'), { ...nobody, id: 'b', createdAt: 2 }),
      createItem(key('secondary', 'a'), { ...nobody, id: 'a', createdAt: 3 }),
      createItem(key('secondary', 'gone'), { ...nobody, id: 'gone', createdAt: 1, revokedAt: 4 }),
    )
    await become({ mode: 'primary', set: 'set-1', epoch: EPOCH, treeId: 'life-1', treeComplete: true })
    // queries of secondaries, terms, and holders
    const QUERIES = ['Query', 'Query', 'Query']
    for (const path of PATHS) {
      // an environment that has no tree in its cache, or another tree, reads the place of the roots from the
      // record
      await become({ treeId: 'life-0' })
      await costOf(path)
      await become({ treeId: 'life-1' })
      expect((await costOf(path)).toSorted(), path).toEqual(['BatchGetItem', 'BatchGetItem', ...QUERIES])
      expect((await costOf(path)).toSorted(), path).toEqual(['BatchGetItem', ...QUERIES])
    }
    const shown = await status()
    expect(shown).toMatchObject({
      mode: 'primary',
      state: 'running',
      cluster_id: 'set-1',
      known_secondaries: ['b', 'a'],
      last_wal: 1,
      last_dr_wal: 0,
      merkle_root: expect.stringMatching(/^[0-9a-f]{40}$/),
    })
    expect((await api('GET', '/sys/health')).body.last_wal).toBe(1)
    expect(await costOf('/sys/health')).toEqual(['BatchGetItem'])
    await journal.putPageHash('t#life-1#root', 'local', { hash: 'three', asOf: `${EPOCH}/000000000002` })
    expect(await status()).not.toMatchObject({ merkle_root: 'merkle_root' in shown && shown.merkle_root })
  })

  test('of a primary whose tree is being built reports the build, and no root', async () => {
    await become({ mode: 'primary', set: 'set-1', epoch: EPOCH, treeId: 'life-2', treeComplete: false })
    expect(await status()).toMatchObject({ reindex_in_progress: true, merkle_root: '' })
  })

  test('uses a fresh read of the cluster record, whatever record the environment has read before', async () => {
    const primary = { mode: 'primary', set: 'set-1', epoch: EPOCH, treeComplete: true } as const
    await become({ ...primary, treeId: 'life-1' })
    const { merkle_root: one } = (await status()) as { merkle_root: string }
    expect(one).toMatch(/^[0-9a-f]{40}$/)
    for (const [parts, shown] of [
      [{ mode: 'secondary' }, { mode: 'secondary', merkle_root: one }],
      [{ mode: 'bootstrapping' }, { mode: 'bootstrapping' }],
      [
        { mode: 'secondary', treeId: 'life-2' },
        { mode: 'secondary', merkle_root: '' },
      ],
      [{ mode: 'disabled' }, { mode: 'disabled' }],
      [
        { ...primary, treeId: 'life-1' },
        { mode: 'primary', merkle_root: one },
      ],
      [{ treeId: 'life-2' }, { mode: 'primary', merkle_root: '' }],
      [{ treeId: 'life-1' }, { mode: 'primary', merkle_root: one }],
    ] as const) {
      await become(parts)
      expect(await status(), JSON.stringify(parts)).toMatchObject(shown)
    }
  })

  test('of a secondary that has contacted its primary shows that contact', async () => {
    await commit(
      putItem(key('contact'), {
        at: HEARD,
        roundTripMs: 3,
        skewMs: 0,
        canaryAt: 0,
        connectedSince: HEARD,
        seq: 1,
        frontier: 1,
        epoch: EPOCH,
        addresses: ['https://a.example'],
      }),
    )
    await become({
      mode: 'secondary',
      link: {
        secondaryId: 'us-west',
        primaryAddr: 'https://first.example',
        primaryAddrs: [],
        primaryKey: 'a key',
        ownKey: 'hidden-key' as EncryptedText,
      },
    })
    expect(await status()).toMatchObject({
      mode: 'secondary',
      secondary_id: 'us-west',
      connection_state: 'ready',
      primary_cluster_addr: 'https://first.example',
      known_primary_cluster_addrs: ['https://a.example'],
    })
    const { text } = await api('GET', '/sys/replication/status', undefined, { token: '' })
    expect(text).not.toContain('hidden-key')
    for (const path of PATHS) {
      await costOf(path)
      expect(await costOf(path), path).toEqual(['BatchGetItem'])
    }
  })

  test('omits unusable addresses that an earlier version stored', async () => {
    const BAD = 'https://me:secret@a.example'
    const heard = {
      at: HEARD,
      roundTripMs: 3,
      skewMs: 0,
      canaryAt: 0,
      connectedSince: HEARD,
      seq: 1,
      frontier: 1,
      epoch: EPOCH,
    }
    const link = { secondaryId: 'us-west', primaryKey: 'a key', ownKey: 'hidden-key' as EncryptedText }
    await commit(
      putItem(key('contact'), { ...heard, addresses: [BAD, 'https://b.example'], apiAddress: BAD }),
    )
    await become({ mode: 'secondary', link: { ...link, primaryAddr: BAD, primaryAddrs: [BAD] } })
    expect(await status()).toMatchObject({
      primary_cluster_addr: '',
      known_primary_cluster_addrs: ['https://b.example'],
      primaries: [{ api_address: 'https://b.example', cluster_address: 'https://b.example' }],
    })
    await commit(putItem(key('contact'), { ...heard, addresses: [BAD] }))
    expect(await status()).toMatchObject({ known_primary_cluster_addrs: [] })
    const known = { id: 'c', createdAt: 5, expires: 0, jti: 'h', lastCallTime: 0, version: '', epoch: EPOCH }
    await commit(putItem(key('secondary', 'c'), { ...known, address: BAD, apiAddress: BAD }))
    await become({ mode: 'primary', set: 'set-1', epoch: EPOCH, treeId: 'life-1', treeComplete: true })
    for (const path of [...PATHS, '/sys/replication/dr/readiness']) {
      const { status: code, text } = await api('GET', path)
      expect([path, code, text.includes('"c"'), text.includes('me:secret')]).toEqual([path, 200, true, false])
    }
  })

  test('costs no further call for a running or failed operation', async () => {
    await commit(
      createItem(key('operation', 'op-1'), {
        name: 'activation',
        status: 'failed',
        step: 'handshake',
        startedAt: 1000,
        changedAt: 2000,
        fault: { code: 'activation_failed', text: 'the primary is silent' },
      }),
    )
    await become({ failedOperation: 'op-1' })
    expect(await status()).toEqual({
      mode: 'disabled',
      last_error: {
        text: 'the primary is silent',
        time: '1970-01-01T00:00:02Z',
        operation: { id: 'op-1', name: 'activation', step: 'handshake' },
      },
    })
    for (const path of PATHS) expect(await costOf(path), path).toEqual(['BatchGetItem'])
    await become({ failedOperation: 'nobody knows' })
  })

  test('without replication costs the same as any request', async () => {
    expect(await status()).toEqual({ mode: 'disabled' })
    for (const path of ['/sys/replication/dr/status', '/sys/replication/status', '/sys/health'])
      expect(await costOf(path)).toEqual(['BatchGetItem'])
  })
})
