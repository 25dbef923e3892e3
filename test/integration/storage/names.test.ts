import { beforeAll, describe, expect, test } from 'vitest'
import { api, freshMount } from '../../support/service/cluster.ts'

// DynamoDB allows keys of 1024 bytes and items of 400 KB. Longer keys and items are reported as missing or
// rejected, never as an internal error.

const LONG = 'x'.repeat(2100)
const rules = 'path "a" { capabilities = ["read"] }'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

const rows: [name: string, method: string, path: () => string, body: unknown, status: number][] = [
  ['reading a role', 'GET', () => `${mount}/role/${LONG}`, undefined, 404],
  [
    'writing a role',
    'POST',
    () => `${mount}/role/${LONG}`,
    { auth_type: 'ec2', bound_region: 'us-east-1' },
    413,
  ],
  ['deleting a role', 'DELETE', () => `${mount}/role/${LONG}`, undefined, 204],
  ['creating a role tag', 'POST', () => `${mount}/role/${LONG}/tag`, {}, 400],
  ['reading an access-list entry', 'GET', () => `${mount}/identity-accesslist/${LONG}`, undefined, 404],
  ['deleting an access-list entry', 'DELETE', () => `${mount}/identity-accesslist/${LONG}`, undefined, 204],
  ['reading a deny-list entry', 'GET', () => `${mount}/roletag-denylist/${LONG}`, undefined, 404],
  ['deleting a deny-list entry', 'DELETE', () => `${mount}/roletag-denylist/${LONG}`, undefined, 204],
  ['reading an STS role', 'GET', () => `${mount}/config/sts/${LONG}`, undefined, 404],
  ['reading a certificate', 'GET', () => `${mount}/config/certificate/${LONG}`, undefined, 404],
  ['listing after a name', 'GET', () => `${mount}/roles?list=true&after=${LONG}`, undefined, 400],
  ['reading a policy', 'GET', () => `/sys/policies/acl/${LONG}`, undefined, 404],
  ['writing a policy', 'POST', () => `/sys/policies/acl/${LONG}`, { policy: rules }, 413],
  ['deleting a policy', 'DELETE', () => `/sys/policies/acl/${LONG}`, undefined, 204],
  [
    'writing a large policy',
    'POST',
    () => '/sys/policies/acl/large',
    { policy: `# ${'x'.repeat(450_000)}\n${rules}` },
    413,
  ],
  ['reading an entity', 'GET', () => `/identity/entity/id/${LONG}`, undefined, 404],
  ['looking up an entity by its ID', 'POST', () => '/identity/lookup/entity', { id: LONG }, 204],
  [
    'looking up an entity by its alias',
    'POST',
    () => '/identity/lookup/entity',
    { alias_name: LONG, alias_mount_accessor: LONG },
    204,
  ],
  ['writing a token role', 'POST', () => `/auth/token/roles/${LONG}`, {}, 413],
  ['creating a token with a token role', 'POST', () => `/auth/token/create/${LONG}`, {}, 400],
  [
    'creating a token with a policy',
    'POST',
    () => '/auth/token/create',
    { policies: [LONG], no_parent: true, ttl: '1m' },
    200,
  ],
  [
    'creating a token with large metadata',
    'POST',
    () => '/auth/token/create',
    { meta: { a: 'x'.repeat(450_000) }, ttl: '1m' },
    413,
  ],
  ['looking up a token', 'POST', () => '/auth/token/lookup', { token: LONG }, 403],
  [
    'looking up a token by its accessor',
    'POST',
    () => '/auth/token/lookup-accessor',
    { accessor: LONG },
    400,
  ],
  ['revoking a token by its accessor', 'POST', () => '/auth/token/revoke-accessor', { accessor: LONG }, 200],
]

describe('a request with a name or value that is too long for DynamoDB', () => {
  test.each(rows)('%s answers $4', async (_, method, path, body, status) => {
    const reply = await api(method, path(), body)
    expect(reply.status, `${path().slice(0, 60)} ${reply.text.slice(0, 200)}`).toBe(status)
    if (status >= 400 && status !== 404) expect(reply.body.errors[0]).toMatch(/./)
  })
})
