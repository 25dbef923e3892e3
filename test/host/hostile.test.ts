import { beforeAll, describe, expect, test } from 'vitest'
import { changesRole, filled, ways } from '../support/requests/endpoints.ts'
import { bodiesFor } from '../support/requests/hostile.ts'
import { ec2Role } from '../support/requests/things.ts'
import { api, done, freshMount } from '../support/service/cluster.ts'

const BODIES = 4

const anotherRoot = async (): Promise<string> =>
  (await done('POST', '/auth/token/create', { policies: 'root', ttl: '1h' })).body.auth.client_token

describe('no parameters make an endpoint fail on its own account', () => {
  let mount = ''
  let token = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    token = await anotherRoot()
  })

  const reading = ways.filter(({ endpoint: { method }, path }) => method === 'POST' && !changesRole(path))
  test.each(reading)('$title', async way => {
    const path = filled(way.path, mount)
    // where a role is asked for, nothing but its absence would be found out
    if (way.path.includes('/role/:role/')) await done('POST', path.replace(/\/\w+$/, ''), ec2Role.body)
    for (const body of bodiesFor(way.endpoint.fields, BODIES)) {
      const reply = await api('POST', path, body, { token })
      const shown = `${JSON.stringify(body).slice(0, 2000)} → ${reply.text}`
      // 502: the provider did not like what was configured
      expect([500, 503, 504], shown).not.toContain(reply.status)
      expect(reply.text === '' || Array.isArray(reply.body?.errors ?? []), shown).toBe(true)
      // some of them end the caller's token
      if (reply.status === 403 || way.path.includes('revoke')) token = await anotherRoot()
    }
  })
})
