import { beforeAll, describe, expect, test } from 'vitest'
import { auditOf } from '../../support/service/audit.ts'
import { api, done, fresh, freshMount, tokenWith } from '../../support/service/cluster.ts'

let mount = ''
let token = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  token = await tokenWith('path "sys/no-such-thing" { capabilities = ["read"] }')
})

const help = (path: string, options: object = { token }) => api('GET', `${path}?help=1`, undefined, options)

describe('help for a path', () => {
  test('is returned for every valid token, and does not run the endpoint', async () => {
    const role = `${mount}/role/${fresh('r')}`
    const { status, body } = await help(role)
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual(['help', 'see_also'])
    expect(body.help).toContain('Path: /auth/:mount/role/:role')
    expect(body.see_also).toEqual([])
    expect((await api('GET', role, undefined, { token })).status, 'no policy was needed').toBe(403)
  })

  test.each(['/auth/token/create', '/sys/auth', '/sys/policies/acl/x', '/sys/health', '/identity/entity/id'])(
    'exists for %s',
    async path => {
      expect((await help(path)).body.help).toMatch(/## (GET|POST|LIST): /)
    },
  )

  test.each(['', '/', '/config'])('lists the paths under a prefix of a mount: %j', async end => {
    const { status, body } = await help(mount + end)
    expect([status, body.see_also.includes('/auth/:mount/config/client')]).toEqual([200, true])
  })

  test('of the login path describes the login without running a login', async () => {
    const { status, body } = await help(`${mount}/login`)
    expect([status, body.help.includes('iam_request_headers')]).toEqual([200, true])
  })

  test('is denied without a valid token', async () => {
    for (const bad of ['', `hvs.${fresh()}`])
      for (const path of [`${mount}/login`, `${mount}/role/x`, mount, '/sys/health', '/auth/nowhere/login'])
        expect((await help(path, { token: bad })).status, path).toBe(403)
  })

  test('answers 404 for unknown paths', async () => {
    expect((await help(`${mount}/no/such/path`)).status).toBe(404)
    expect((await help(`/auth/${fresh('nowhere')}/login`)).status).toBe(404)
    expect((await help('/sys/no-such-thing')).status).toBe(404)
  })

  test('is not returned for an empty help parameter or for a write', async () => {
    expect((await api('GET', '/sys/health?help=', undefined, { token })).body).toHaveProperty('initialized')
    const role = `${mount}/role/${fresh('r')}`
    await done('POST', `${role}?help=1`, { auth_type: 'ec2', bound_account_id: '111122223333' })
    expect((await api('GET', role)).status).toBe(200)
  })

  test('is audited, without a role tag in the path', async () => {
    const role = `${mount}/role/${fresh('r')}`
    await help(role)
    expect(auditOf(role).map(({ audit }) => audit)).toEqual(['request', 'response'])
    const tag = fresh('tag')
    expect((await help(`${mount}/roletag-denylist/${tag}`)).status).toBe(200)
    expect(auditOf(`${mount}/roletag-denylist/`).at(-1)?.request.path).not.toContain(tag)
  })
})
