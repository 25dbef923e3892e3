import { beforeAll, describe, expect, test } from 'vitest'
import { api, freshMount } from '../../support/cluster.ts'

// DynamoDB takes names of 1024 bytes and items of 400 KB: what is longer is not there, or is refused; never a fault.

const LONG = 'x'.repeat(2100)
const rules = 'path "a" { capabilities = ["read"] }'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

const rows: [string, () => string, unknown, number][] = [
  ['GET', () => `${mount}/role/${LONG}`, undefined, 404],
  ['POST', () => `${mount}/role/${LONG}`, { auth_type: 'ec2', bound_region: 'us-east-1' }, 413],
  ['DELETE', () => `${mount}/role/${LONG}`, undefined, 204],
  ['POST', () => `${mount}/role/${LONG}/tag`, {}, 400],
  ['GET', () => `${mount}/identity-accesslist/${LONG}`, undefined, 404],
  ['DELETE', () => `${mount}/identity-accesslist/${LONG}`, undefined, 204],
  ['GET', () => `${mount}/roletag-denylist/${LONG}`, undefined, 404],
  ['DELETE', () => `${mount}/roletag-denylist/${LONG}`, undefined, 204],
  ['GET', () => `${mount}/config/sts/${LONG}`, undefined, 404],
  ['GET', () => `${mount}/config/certificate/${LONG}`, undefined, 404],
  ['GET', () => `${mount}/roles?list=true&after=${LONG}`, undefined, 400],
  ['GET', () => `/sys/policies/acl/${LONG}`, undefined, 404],
  ['POST', () => `/sys/policies/acl/${LONG}`, { policy: rules }, 413],
  ['DELETE', () => `/sys/policies/acl/${LONG}`, undefined, 204],
  ['POST', () => '/sys/policies/acl/large', { policy: `# ${'x'.repeat(450_000)}\n${rules}` }, 413],
  ['GET', () => `/identity/entity/id/${LONG}`, undefined, 404],
  ['POST', () => '/identity/lookup/entity', { id: LONG }, 204],
  ['POST', () => '/identity/lookup/entity', { alias_name: LONG, alias_mount_accessor: LONG }, 204],
  ['POST', () => `/auth/token/roles/${LONG}`, {}, 413],
  ['POST', () => `/auth/token/create/${LONG}`, {}, 400],
  ['POST', () => '/auth/token/create', { policies: [LONG], no_parent: true, ttl: '1m' }, 200],
  ['POST', () => '/auth/token/create', { meta: { a: 'x'.repeat(450_000) }, ttl: '1m' }, 413],
  ['POST', () => '/auth/token/lookup', { token: LONG }, 403],
  ['POST', () => '/auth/token/lookup-accessor', { accessor: LONG }, 400],
  ['POST', () => '/auth/token/revoke-accessor', { accessor: LONG }, 200],
]

describe('names and values beyond what can be stored', () => {
  test.each(rows.map(([method, path, body, status], index) => ({ index, method, path, body, status })))(
    'row $index of the table: $method is answered with $status',
    async ({ method, path, body, status }) => {
      const reply = await api(method, path(), body)
      expect(reply.status, `${path().slice(0, 60)} ${reply.text.slice(0, 200)}`).toBe(status)
      if (status >= 400 && status !== 404) expect(reply.body.errors[0]).toMatch(/./)
    },
  )
})
