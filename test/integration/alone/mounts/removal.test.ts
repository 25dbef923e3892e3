import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { StorageFault } from '../../../support/faults/storage-faults.ts'
import { lives } from '../../../support/requests/tokens.ts'
import { workerOn } from '../../../support/requests/workers.ts'
import { clock } from '../../../support/service/clock.ts'
import { api, cluster, done, freshMount, invoke, settled, storage } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { raw, tableStore } from '../../../support/tables/store.ts'

withoutWaiting()

// The job that removes a mount may die at any point. The remaining items have no effect, and the hourly
// schedule removes them.

let tables: ReturnType<typeof tableStore>
beforeAll(() => {
  tables = tableStore(cluster)
})
afterEach(async () => {
  clock.reset()
  await storage.reset()
})

const removing = async (): Promise<string[]> => {
  const [table] = await tables.store.read([key('mounts')])
  return (table?.data.removing ?? []).map(mount => mount.accessor)
}

const FOREVER = 100_000

/** Seconds after which a request that read the mount before it was disabled can no longer write. */
const LATE = 30

async function round(): Promise<void> {
  await invoke('on-tidy-schedule')
  await settled()
}

describe('a disabled mount is removed in the end although the storage fails', () => {
  test.each<[string, StorageFault]>([
    ['the first listing', { operation: 'Query', skip: 0, when: 'before', kind: 'error', times: FOREVER }],
    ['a later listing', { operation: 'Query', skip: 40, when: 'before', kind: 'error', times: FOREVER }],
    [
      'its deletions',
      // the first two transactions disable the mount and enable another mount at the same path
      { operation: 'TransactWriteItems', skip: 2, when: 'before', kind: 'throttle', times: FOREVER },
    ],
    [
      'the deletion of a role',
      { operation: 'DeleteItem', skip: 0, when: 'before', kind: 'error', times: FOREVER },
    ],
    ['the scan of all tokens', { operation: 'Scan', skip: 0, when: 'before', kind: 'error', times: FOREVER }],
    [
      'a deletion whose answer is lost',
      { operation: 'DeleteItem', skip: 0, when: 'after', kind: 'reset', times: 2 },
    ],
  ])('at %s', async (_, fault) => {
    const { path, accessor } = await freshMount()
    const worker = await workerOn(path)
    const auth = await worker.login()
    const items = [
      key('role', accessor, worker.role),
      key('alias', accessor, auth.metadata?.['role_id'] ?? ''),
      key('entity', auth.entity_id),
      key('token', auth.accessor),
    ]
    await settled()
    await storage.fault(fault)
    expect((await done('DELETE', `/sys${path}`)).status).toBe(204)
    await done('POST', `/sys${path}`, { type: 'cloud' })
    expect(await lives(auth.client_token)).toBe(false)
    expect((await api('POST', `${path}/login`, worker.signed(), { token: '' })).status).toBe(400)
    // the job fails, and both of its repetitions fail
    await settled()
    if (fault.times === FOREVER) expect(await removing()).toContain(accessor)
    await storage.reset()
    clock.advance(LATE)
    await round()
    expect(await removing()).not.toContain(accessor)
    for (const item of items) expect(await raw(cluster, item), item.kind).toBeUndefined()
    expect(await lives(auth.client_token)).toBe(false)
  })
})

test('items that a late login writes after its mount was disabled are removed', async () => {
  const { path, accessor } = await freshMount()
  const auth = await (await workerOn(path)).login()
  const alias = key('alias', accessor, auth.metadata?.['role_id'] ?? '')
  const entity = key('entity', auth.entity_id)
  const [stored, pointer] = await tables.store.read([alias, entity])
  if (!stored || !pointer) throw new Error('the login has left no alias')
  await done('DELETE', `/sys${path}`)
  await settled()
  expect(await raw(cluster, alias)).toBeUndefined()
  await tables.commit(createItem(alias, stored.data), createItem(entity, pointer.data))
  clock.advance(LATE)
  await round()
  for (const item of [alias, entity]) expect(await raw(cluster, item), item.kind).toBeUndefined()
  expect(await removing()).not.toContain(accessor)
})

test('a login that commits after its mount was disabled returns an invalid token (CVE-2020-7220)', async () => {
  const { path } = await freshMount()
  const worker = await workerOn(path)
  await worker.login()
  await storage.fault({ kind: 'hold', operation: 'PutItem', skip: 0 })
  const login = worker.tryLogin()
  await storage.held()
  await done('DELETE', `/sys${path}`)
  await storage.mend()
  const { status, text, body } = await login
  expect(status, text).toBe(200)
  const token = body.auth.client_token
  expect(await lives(token)).toBe(false)
  await done('POST', `/sys${path}`, { type: 'cloud' })
  expect(await lives(token)).toBe(false)
})
