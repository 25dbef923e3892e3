import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, NO_NAMESPACE } from '../../support/requests/logins.ts'
import { lives, make } from '../../support/requests/tokens.ts'
import { api, fresh, freshMount, tokenWith } from '../../support/service/cluster.ts'

// Advisories about features that this product does not have: their paths and fields must not exist.

const ALL = '["create", "read", "update", "delete", "list", "sudo"]'

describe("policy templates are rejected, so a client's name cannot widen a rule: CVE-2021-43998, CVE-2026-5006, HCSEC-2026-32, GHSA-59w7-v8rr-pr4p, CVE-2026-71543, GHSA-hr5j-3j78-4vh2", () => {
  test.each([
    '{{identity.entity.id}}',
    '{{identity.entity.aliases.auth_cloud_1.metadata.client_arn}}',
    '{{ identity.groups.names.x.id }}',
    'x/{{identity.entity.name}}/*',
    '{{',
  ])('a policy with %s is rejected, in HCL and in JSON, and not stored', async template => {
    const path = `auth/cloud/role/${template}`
    const hcl = `path "${path}" { capabilities = ["read"] }`
    for (const policy of [hcl, JSON.stringify({ path: { [path]: { capabilities: ['read'] } } })]) {
      const name = fresh('p')
      const reply = await api('POST', `/sys/policies/acl/${name}`, { policy })
      expect(reply.status, reply.text).toBe(400)
      expect(errorsOf(reply)).toContain('templates are not supported')
      expect((await api('GET', `/sys/policies/acl/${name}`)).status).toBe(404)
    }
  })
})

describe('requests that name a namespace other than root get 404', () => {
  let mount = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
  })
  const elsewhere = ['child', 'child/', 'a/b', mount.slice(1)]
  const headers = ['X-Vault-Namespace', 'X-Service-Namespace']

  test('a policy that allows every path grants nothing in another namespace (CVE-2020-10661)', async () => {
    const token = await tokenWith(
      `path "*" { capabilities = ${ALL} }\npath "+/+/+" { capabilities = ${ALL} }`,
    )
    for (const name of headers)
      for (const namespace of elsewhere.filter(Boolean)) {
        const reply = await api('GET', `${mount}/config/identity`, undefined, {
          token,
          headers: { [name]: namespace },
        })
        expect([reply.status, errorsOf(reply)], namespace).toEqual([404, NO_NAMESPACE])
      }
    expect((await api('GET', `${mount}/config/identity`, undefined, { token })).status).toBe(200)
  })

  test('a policy cannot be written in another namespace, and a token with its name gains nothing (CVE-2020-35453, CVE-2023-3775)', async () => {
    const name = fresh('p')
    const policy = { policy: `path "*" { capabilities = ${ALL} }` }
    const { client_token: token } = await make({ policies: name })
    for (const options of headers.map(header => ({ headers: { [header]: 'child' } })))
      expect((await api('POST', `/sys/policies/acl/${name}`, policy, options)).status).toBe(404)
    expect((await api('POST', `/child/sys/policies/acl/${name}`, policy)).status).toBe(404)
    expect((await api('GET', `/sys/policies/acl/${name}`)).status).toBe(404)
    expect((await api('GET', '/sys/policies/acl/default', undefined, { token })).status).toBe(403)
  })

  test('an accessor cannot be used in another namespace (CVE-2026-40264, GHSA-p49j-v9wc-wg57)', async () => {
    const { client_token: token, accessor } = await make({ policies: 'default', ttl: '1h' })
    for (const header of headers)
      for (const path of ['lookup-accessor', 'renew-accessor', 'revoke-accessor']) {
        const options = { headers: { [header]: 'child' } }
        expect((await api('POST', `/auth/token/${path}`, { accessor }, options)).status).toBe(404)
      }
    expect(await lives(token)).toBe(true)
  })

  test.each(['..', '.', '%2e%2e', 'a/../b', 'a//b', '\u0001', '__proto__', 'x'.repeat(4000)])(
    'an odd namespace name gets 400 or 404, never 500: %j (CVE-2023-3774)',
    async name => {
      const target = encodeURIComponent(name)
      for (const path of [`/sys/namespaces/${target}`, `/${target}/sys/auth`]) {
        const { status, text } = await api('POST', path, {})
        expect([400, 404], text).toContain(status)
      }
    },
  )
})

describe('paths of Vault features that do not exist here (groups, MFA, leases, Raft peers) get 404 or 405', () => {
  test.each([
    ['POST', '/identity/group', 'CVE-2020-10660'],
    ['POST', '/identity/group-alias', 'CVE-2020-10660'],
    ['POST', '/identity/entity', 'CVE-2021-41802'],
    ['POST', '/identity/entity-alias', 'CVE-2021-41802'],
    ['POST', '/identity/entity/merge', 'CVE-2021-41802'],
    ['POST', '/identity/mfa/method/totp', 'CVE-2022-30689'],
    ['POST', '/sys/mfa/validate', 'CVE-2022-30689'],
    ['POST', '/sys/namespaces/child', 'CVE-2023-3774'],
    ['PUT', '/sys/renew/lease', 'CVE-2026-45808'],
    ['PUT', '/sys/revoke/lease', 'CVE-2026-45808'],
    ['PUT', '/sys/revoke-prefix/auth', 'GHSA-v8v8-cm84-m686'],
    ['PUT', '/sys/revoke-force/auth', 'GHSA-c36x-h252-g9x2, CVE-2026-55774'],
    ['POST', '/sys/storage/raft/remove-peer', 'CVE-2021-3282'],
    ['POST', '/sys/storage/raft/join', 'CVE-2022-36129'],
    ['POST', '/identity/entity/batch-delete', 'CVE-2026-14886, HCSEC-2026-27'],
    ['POST', '/identity/mfa/login-enforcement/x', 'CVE-2025-6015, CVE-2025-55003, HCSEC-2025-19'],
    ['GET', '/identity/oidc/provider/x/authorize', 'GHSA-2cjw-94fw-wqjx'],
    ['POST', '/totp/code/x', 'CVE-2025-6014, CVE-2025-55000'],
    ['PUT', '/sys/audit/file', 'CVE-2025-6000, CVE-2025-54997, HCSEC-2025-14'],
    ['POST', '/sys/audit/file', 'CVE-2026-5051, HCSEC-2026-16'],
    ['PUT', '/sys/plugins/catalog/auth/x', 'CVE-2026-105816, GHSA-j6wc-jpvg-xfxq'],
    ['DELETE', '/sys/plugins/catalog/auth/x', 'CVE-2026-115366, GHSA-cg72-x35g-xfp8'],
    ['POST', '/sys/quotas/rate-limit/x', 'CVE-2026-115359'],
    ['GET', '/sys/config/state/sanitized', 'CVE-2026-115363'],
    ['POST', '/pki/sign/x', 'CVE-2026-115369, GHSA-g892-p242-8g86'],
    ['POST', '/pki/acme/new-order', 'CVE-2026-105818, GHSA-x8fg-h69x-p28f'],
    ['POST', '/transit/keys/x', 'CVE-2026-55776, GHSA-8w8f-r2xv-4q4j'],
    ['POST', '/database/roles/x', 'CVE-2026-39946, GHSA-6vgr-cp5c-ffx3'],
  ])('%s %s (%s)', async (method, path) => {
    const reply = await api(method, path, method === 'GET' ? undefined : { name: 'x', lease_id: 'x' })
    expect([404, 405], reply.text).toContain(reply.status)
    expect((await api(method, path, undefined, { token: '' })).status).toBe(403)
  })
})

describe('other auth methods and secrets engines cannot be enabled', () => {
  test.each([
    ['azure', 'CVE-2025-3879'],
    ['ldap', 'CVE-2026-55770, GHSA-6mwx-4547-5vc9, CVE-2025-13357'],
    ['jwt', 'CVE-2026-33757, CVE-2026-33758'],
    ['oidc', 'CVE-2026-33758'],
    ['cert', 'CVE-2026-39388'],
    ['userpass', 'CVE-2025-54999'],
  ])('an auth mount of type %s is rejected (%s)', async type => {
    const name = fresh('m')
    expect((await api('POST', `/sys/auth/${name}`, { type })).status).toBe(400)
    expect((await api('POST', `/auth/${name}/login`, {}, { token: '' })).status).toBe(400)
    expect((await api('GET', `/sys/auth/${name}`)).status).toBe(400)
  })

  test.each([
    ['pki', 'CVE-2026-105818'],
    ['transit', 'CVE-2026-55776'],
    ['database', 'CVE-2026-39946'],
    ['totp', 'CVE-2025-6014'],
  ])('a secrets engine of type %s is rejected (%s)', async type => {
    expect([404, 405]).toContain((await api('POST', `/sys/mounts/${fresh('m')}`, { type })).status)
  })
})
