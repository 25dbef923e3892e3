import { beforeAll, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { raw } from '../../../support/tables/store.ts'

let host: Awaited<ReturnType<typeof ownHost>>
beforeAll(async () => {
  host = await ownHost()
})

const done = async (method: string, path: string, body?: unknown, token?: string) => {
  const reply = await host.api(method, path, body, token === undefined ? {} : { token })
  expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300)
  return reply
}
const term = async (): Promise<number> => (await done('GET', '/sys/key-status')).body.data.term
const batchToken = async (): Promise<string> =>
  (await done('POST', '/auth/token/create', { type: 'batch', policies: ['default'], ttl: '1h' })).body.auth
    .client_token
const encryptedSecret = async (): Promise<string> => {
  await done('POST', '/auth/cloud/config/client', { access_key: 'AKIAEXAMPLE', secret_key: 'a secret' })
  const { accessor } = (await done('GET', '/sys/auth/cloud')).body.data
  const item = (await raw(host, key('client-config', accessor))) as { data: { secretKey: string } }
  return item.data.secretKey
}

describe('sys/rotate', () => {
  test('encrypts new data and batch tokens with the new term, and data of older terms stays readable', async () => {
    const before = await term()
    const tokens = [await batchToken()]
    const role = { auth_type: 'ec2', bound_account_id: '111122223333', role_tag: 'T', token_policies: 'dev' }
    await done('POST', '/auth/cloud/role/tagged', role)
    const { tag_value: tag } = (await done('POST', '/auth/cloud/role/tagged/tag')).body.data

    const reply = await host.api('PUT', '/sys/rotate')
    expect([reply.status, reply.text]).toEqual([204, ''])
    expect(await term()).toBe(before + 1)

    tokens.push(await batchToken())
    expect(tokens.map(token => token.split('.')[1])).toEqual([String(before), String(before + 1)])
    for (const token of tokens) await done('GET', '/auth/token/lookup-self', undefined, token)
    expect(await encryptedSecret()).toMatch(new RegExp(`^${before + 1}\\.`))
    // this tag was signed with the role's key, which the older term encrypted
    await done('POST', `/auth/cloud/roletag-denylist/${encodeURIComponent(tag)}`)
  })

  test('every environment of every function encrypts with the new term from its next request on', async () => {
    await Promise.all(Array.from({ length: 9 }, batchToken))
    await done('POST', '/sys/rotate')
    const newest = String(await term())
    const tokens = await Promise.all(Array.from({ length: 9 }, batchToken))
    expect(tokens.map(token => token.split('.')[1])).toEqual(Array(9).fill(newest))
    expect((await encryptedSecret()).split('.')[0]).toBe(newest)
  })

  test('tokens with chosen IDs keep their accessors and stay valid', async () => {
    const chosen = { id: 'a-chosen-id', policies: ['default'], ttl: '1h' }
    const { accessor } = (await done('POST', '/auth/token/create', chosen)).body.auth
    await done('POST', '/sys/rotate')
    const { data } = (await done('GET', '/auth/token/lookup-self', undefined, chosen.id)).body
    expect(data).toMatchObject({ id: chosen.id, accessor })
    expect((await host.api('POST', '/auth/token/create', chosen)).status).toBe(400)
  })

  test('HMACs in the audit log do not change', async () => {
    const hash = async () => (await done('POST', '/sys/audit-hash/file', { input: 'a value' })).body.data.hash
    const before = await hash()
    await done('POST', '/sys/rotate')
    expect(await hash()).toBe(before)
  })

  test('four concurrent rotations add four terms', async () => {
    const before = await term()
    await Promise.all(Array.from({ length: 4 }, () => done('POST', '/sys/rotate')))
    expect(await term()).toBe(before + 4)
  })
})

test('sys/rotate/keyring, the path that newer versions of the Vault command line call, rotates too', async () => {
  const before = await term()
  await done('POST', '/sys/rotate/keyring')
  expect(await term()).toBe(before + 1)
})

test('sys/key-status returns the term and its install time in the shape that the Vault command line reads', async () => {
  await done('POST', '/sys/rotate')
  const { body } = await done('GET', '/sys/key-status')
  expect(body).toMatchObject({ term: body.data.term, install_time: body.data.install_time })
  expect(Math.abs(Date.parse(body.data.install_time) - Date.now())).toBeLessThan(60_000)
})
