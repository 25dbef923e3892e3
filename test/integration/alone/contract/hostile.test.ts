import { beforeAll, describe, expect, test } from 'vitest'
import { changesRole, filled, ways } from '../../../support/requests/endpoints.ts'
import { bodiesFor } from '../../../support/requests/hostile.ts'
import { ec2Role } from '../../../support/requests/things.ts'
import { api, done, freshMount } from '../../../support/service/cluster.ts'

const BODIES = 4

const anotherRoot = async (): Promise<string> =>
  (await done('POST', '/auth/token/create', { policies: 'root', ttl: '1h' })).body.auth.client_token

describe('no parameters cause an internal error', () => {
  let mount = ''
  let token = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    token = await anotherRoot()
  })

  const reading = ways.filter(({ endpoint: { method }, path }) => method === 'POST' && !changesRole(path))
  test.each(reading)('$title', async way => {
    const path = filled(way.path, mount)
    // without an existing role every request would stop at 404
    if (way.path.includes('/role/:role/')) await done('POST', path.replace(/\/\w+$/, ''), ec2Role.body)
    for (const body of bodiesFor(way.endpoint.fields, BODIES)) {
      const reply = await api('POST', path, body, { token })
      const shown = `${JSON.stringify(body).slice(0, 2000)} → ${reply.text}`
      // 502 is allowed, because it reports that AWS rejected the configuration
      expect([500, 503, 504], shown).not.toContain(reply.status)
      expect(reply.text === '' || Array.isArray(reply.body?.errors ?? []), shown).toBe(true)
      // some requests revoke their own token
      if (reply.status === 403 || way.path.includes('revoke')) token = await anotherRoot()
    }
  })
})
