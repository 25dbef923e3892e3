import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import type { StorageFault } from '../../../support/faults/storage-faults.ts'
import { lives, lookUp, make, tryMake } from '../../../support/requests/tokens.ts'
import { api, cluster, done, settled, storage } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { tableStore } from '../../../support/tables/store.ts'

withoutWaiting()

type Made = Awaited<ReturnType<typeof make>>

async function family(): Promise<[Made, Made, Made]> {
  const top = await make({ policies: 'root', ttl: '1h', no_parent: true })
  const child = await make({ policies: 'root', ttl: '1h' }, { token: top.client_token })
  return [top, child, await make({ policies: 'default' }, { token: child.client_token })]
}

let tables: ReturnType<typeof tableStore>
beforeAll(() => {
  tables = tableStore(cluster)
})

/** Counts the stored items of a family of tokens. */
async function left(made: readonly Made[]): Promise<number> {
  const items = await tables.store.read([
    ...made.map(one => key('token', one.accessor)),
    ...made.slice(1).map((one, index) => key('child', made[index]?.accessor ?? '', one.accessor)),
  ])
  return items.filter(Boolean).length
}

afterEach(() => storage.reset())

describe('revoke-orphan while the token creates children', () => {
  const orphaning = (token: string) => done('POST', '/auth/token/revoke-orphan', { token })

  test('a child stored before the parent is deleted becomes an orphan', async () => {
    const [{ client_token: token }, child] = await family()
    await storage.fault({ kind: 'hold', operation: 'DeleteItem', skip: 0 })
    const revoked = orphaning(token)
    await storage.held()
    expect(await lookUp(child.client_token)).toMatchObject({ orphan: true })
    const meanwhile = await make({ policies: 'default', ttl: '1h' }, { token })
    await storage.mend()
    await revoked
    for (const one of [child, meanwhile]) {
      expect(await lives(one.client_token)).toBe(true)
      expect(await lookUp(one.client_token)).toMatchObject({ orphan: true })
    }
    expect((await tryMake({}, { token })).status).toBe(403)
  })

  test('a child stored after the parent is deleted is invalid', async () => {
    const [{ client_token: token }] = await family()
    await storage.fault({ kind: 'hold', operation: 'TransactWriteItems', skip: 0 })
    const making = make({ policies: 'default', ttl: '1h' }, { token })
    await storage.held()
    await orphaning(token)
    await storage.mend()
    const late = await making
    expect(await lives(late.client_token)).toBe(false)
    for (const [path, status] of [
      ['lookup', 403],
      ['renew', 400],
    ] as const)
      expect((await api('POST', `/auth/token/${path}`, { token: late.client_token })).status).toBe(status)
  })
})

describe('revoking and using tokens while the storage fails', () => {
  test.each<[string, StorageFault]>([
    [
      'when it lists the children',
      { operation: 'Query', skip: 0, when: 'before', kind: 'error', times: 100 },
    ],
    [
      'when it lists the grandchildren',
      { operation: 'Query', skip: 1, when: 'before', kind: 'reset', times: 100 },
    ],
    [
      'when it deletes the children',
      { operation: 'TransactWriteItems', skip: 0, when: 'before', kind: 'error', times: 100 },
    ],
  ])('%s invalidates the whole token family, and a tidy deletes the family', async (_, fault) => {
    const made = await family()
    await storage.fault(fault)
    const reply = await api('POST', '/auth/token/revoke', { token: made[0].client_token })
    expect(reply.status, reply.text).toBe(204)
    await storage.reset()
    for (const one of made) expect(await lives(one.client_token)).toBe(false)
    expect(await left(made)).toBeGreaterThan(0)
    await done('POST', '/auth/token/tidy')
    await settled()
    expect(await left(made)).toBe(0)
  })

  test('a revocation gets 503 and revokes nothing when the token itself cannot be deleted', async () => {
    const made = await family()
    await storage.fault({ operation: 'DeleteItem', skip: 0, when: 'before', kind: 'error', times: 100 })
    const reply = await api('POST', '/auth/token/revoke', { token: made[0].client_token })
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '1'])
    await storage.reset()
    for (const one of made) expect(await lives(one.client_token)).toBe(true)
    expect((await api('POST', '/auth/token/revoke', { token: made[0].client_token })).status).toBe(204)
    for (const one of made) expect(await lives(one.client_token)).toBe(false)
  })

  test('a use is counted once although the answer of the update was lost', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 2 })
    await storage.fault({ operation: 'UpdateItem', skip: 0, when: 'after', kind: 'reset' })
    expect(await lives(token)).toBe(true)
    expect(await lives(token)).toBe(true)
    expect(await lives(token)).toBe(false)
  })

  test('counting a use is one UpdateItem, without a write of the whole token', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 3 })
    await storage.reset()
    await api('GET', '/auth/token/lookup-self', undefined, { token })
    const writes = (await storage.calls()).map(call => call.operation).filter(name => !/Get|Query/.test(name))
    expect(writes).toEqual(['UpdateItem'])
  })

  test('a request fails with 503 when its use cannot be counted', async () => {
    const { client_token: token } = await make({ policies: 'default', num_uses: 2 })
    await storage.fault({ operation: 'UpdateItem', skip: 0, when: 'before', kind: 'error', times: 100 })
    const reply = await api('GET', '/auth/token/lookup-self', undefined, { token })
    expect([reply.status, reply.body.data]).toEqual([503, undefined])
  })

  test('unwrapping fails without the secret when the wrapping token cannot be spent', async () => {
    const { body } = await done(
      'POST',
      '/sys/wrapping/wrap',
      { secret: 'TREASURE' },
      { headers: { 'x-vault-wrap-ttl': '5m' } },
    )
    const { token } = body.wrap_info
    const open = () => api('POST', '/sys/wrapping/unwrap', { token }, { token: '' })
    await storage.fault({
      operation: 'TransactWriteItems',
      skip: 0,
      when: 'before',
      kind: 'conflict',
      times: 100,
    })
    const refused = await open()
    expect([refused.status, refused.text]).toEqual([503, expect.not.stringContaining('TREASURE')])
    await storage.reset()
    expect((await open()).body.data).toEqual({ secret: 'TREASURE' })
  })

  test('token creation, wrapped or not, returns no token when the token cannot be stored', async () => {
    for (const headers of [{}, { 'x-vault-wrap-ttl': '5m' }]) {
      await storage.fault({
        operation: 'TransactWriteItems',
        skip: 0,
        when: 'before',
        kind: 'conflict',
        times: 100,
      })
      const reply = await api('POST', '/auth/token/create', { policies: 'default' }, { headers })
      expect([reply.status, reply.text]).toEqual([503, expect.not.stringContaining('hvs.')])
      await storage.reset()
    }
  })
})
