import { rmSync, symlinkSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { iamRole } from '../../../support/requests/things.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { tableStore } from '../../../support/tables/store.ts'

let host: Awaited<ReturnType<typeof ownHost>>
let mount = ''
beforeAll(async () => {
  host = await ownHost()
  mount = (await host.api('GET', '/sys/auth')).body.data['cloud/'].accessor
  // functions that have not run yet open their audit log on a full disk
  rmSync(`${host.directory}/audit.log`)
  symlinkSync('/dev/full', `${host.directory}/audit.log`)
})

const UNWRITABLE = {
  errors: [
    'the audit log cannot be written: free disk space, or make the file of the audit log writable (ENOSPC)',
  ],
}

describe('requests fail when the audit log cannot be written', () => {
  test('a write gets 503 and stores nothing', async () => {
    const { status, body } = await host.api('POST', '/auth/cloud/role/x', iamRole.body)
    expect([status, body]).toEqual([503, UNWRITABLE])
    const [role] = await tableStore(host).store.read([key('role', mount, 'x')])
    expect(role).toBeUndefined()
  })

  test('token creation gets 503 and stores no token', async () => {
    const { status, body } = await host.api('POST', '/auth/token/create', {
      id: 'chosen',
      policies: 'default',
    })
    expect([status, body]).toEqual([503, UNWRITABLE])
    const tokens: unknown[] = []
    for await (const page of tableStore(host).store.scan('token', { index: 0, of: 1 }))
      tokens.push(...page.items)
    expect(tokens, 'the root token alone').toHaveLength(1)
  })

  test('a request without a valid token gets 503 too', async () => {
    const { status, body } = await host.api('GET', '/auth/cloud/role/x', undefined, { token: '' })
    expect([status, body]).toEqual([503, UNWRITABLE])
  })

  test('health probes still get 200', async () => {
    expect((await host.api('GET', '/sys/health')).status).toBe(200)
  })
})
