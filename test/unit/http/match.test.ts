import { describe, expect, test } from 'vitest'
import type { Operation } from '../../../shared/api/call.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import { matchEndpoint } from '../../../shared/http/match.ts'

const everything = { name: 'all', endpoints: endpointGroups.flatMap(group => group.endpoints) }
const found = (operation: Operation | undefined, path: string) => matchEndpoint(everything, operation, path)

describe('finding the endpoint of a path', () => {
  test.each<[operation: Operation, path: string, endpoint: string, params: object, typed?: string]>([
    ['read', 'auth/cloud/role/dev', 'GET /auth/:mount/role/:role', { mount: 'cloud', role: 'dev' }],
    ['read', 'auth/cloud/role/DEV', 'GET /auth/:mount/role/:role', { role: 'dev' }, 'auth/cloud/role/dev'],
    [
      'write',
      'auth/cloud/role/Dev/tag',
      'POST /auth/:mount/role/:role/tag',
      { role: 'dev' },
      'auth/cloud/role/dev/tag',
    ],
    ['list', 'auth/cloud/roles', 'LIST /auth/:mount/roles', {}],
    ['list', 'auth/cloud/roles/', 'LIST /auth/:mount/roles', {}, 'auth/cloud/roles'],
    ['list', 'auth/cloud/role/', 'LIST /auth/:mount/roles', {}, 'auth/cloud/role'],
    [
      'read',
      'auth/cloud/identity-accesslist/i-0aB',
      'GET /auth/:mount/identity-accesslist/:instance_id',
      { instance_id: 'i-0aB' },
    ],
    ['read', 'auth/cloud/identity-whitelist/i-1', 'GET /auth/:mount/identity-accesslist/:instance_id', {}],
    [
      'write',
      'auth/cloud/roletag-denylist/v1:a//b+=/c',
      'POST /auth/:mount/roletag-denylist/:role_tag',
      { role_tag: 'v1:a//b+=/c' },
    ],
    [
      'write',
      'auth/cloud/roletag-denylist/',
      'POST /auth/:mount/roletag-denylist/:role_tag',
      { role_tag: '' },
    ],
    [
      'list',
      'auth/cloud/roletag-denylist/',
      'LIST /auth/:mount/roletag-denylist',
      {},
      'auth/cloud/roletag-denylist',
    ],
    [
      'read',
      'auth/cloud/config/certificate/Cert_1.a',
      'GET /auth/:mount/config/certificate/:cert_name',
      { cert_name: 'Cert_1.a' },
    ],
    ['write', 'sys/policies/acl/Team/x', 'none', {}],
    [
      'write',
      'sys/policies/acl/TEAM',
      'POST /sys/policies/acl/:policy_name',
      { policy_name: 'team' },
      'sys/policies/acl/team',
    ],
    ['read', 'sys/auth/cloud/tune', 'GET /sys/auth/:method_path/tune', { method_path: 'cloud' }],
    [
      'read',
      'sys/mounts/auth/cloud/tune',
      'GET /sys/mounts/auth/:method_path/tune',
      { method_path: 'cloud' },
    ],
    ['write', 'sys/auth/a/b', 'POST /sys/auth/:method_path', { method_path: 'a/b' }],
    ['write', 'auth/token/create', 'POST /auth/token/create', {}],
    ['write', 'auth/token/create/ci', 'POST /auth/token/create/:role_name', { role_name: 'ci' }],
    ['write', 'auth/token/login', 'POST /auth/:mount/login', { mount: 'token' }],
  ])(
    'the operation %s on the path %s finds the endpoint %s',
    (operation, path, endpoint, params, typed = path) => {
      const result = found(operation, path)
      const name = 'endpoint' in result ? `${result.endpoint.method} ${result.endpoint.path}` : 'none'
      expect(name).toBe(endpoint)
      expect(result.pathParameters).toMatchObject(params)
      expect(result.path).toBe(typed)
    },
  )

  test.each([
    'auth/cloud/role/-a',
    'auth/cloud/role/a-',
    'auth/cloud/role/.a',
    'auth/cloud/role/a b',
    'auth/cloud/role/a/b',
    'auth/cloud/role/dev/',
    'auth/cloud/role/é',
    'auth/cloud/role/a%2Fb',
    'auth/cloud/role/a;b',
    'auth/cloud/Role/dev',
    'auth/cloud/config/certificate/a*',
    'auth/cloud/nothing',
    'auth/a/b/role/dev',
    'auth//role/dev',
    'secret/data/x',
    '',
  ])('%j finds no endpoint', path => {
    expect(found('read', path)).toMatchObject({ miss: 'path', path })
  })

  test.each<[operation: Operation | undefined, path: string]>([
    ['read', 'auth/cloud/login'],
    ['read', 'auth/cloud/role/dev/tag'],
    ['delete', 'auth/cloud/config/identity'],
    ['write', 'auth/cloud/identity-accesslist/i-1'],
    ['list', 'auth/cloud/role/dev'],
    ['read', 'auth/cloud/roles'],
    ['read', 'auth/cloud/role/'],
    [undefined, 'auth/cloud/role/dev'],
  ])('the URL %s names no operation of %s', (operation, path) => {
    expect(found(operation, path)).toMatchObject({ miss: 'operation', pathParameters: { mount: 'cloud' } })
  })

  test('a path without endpoint still yields its mount, and needs no token only if nothing matches', () => {
    expect(found('read', 'auth/x/nothing')).toMatchObject({
      miss: 'path',
      pathParameters: { mount: 'x' },
      open: false,
    })
    expect(found('delete', 'auth/x/login')).toMatchObject({ miss: 'operation', open: false })
    expect(found('delete', 'sys/health')).toMatchObject({ miss: 'operation', open: true })
    expect(found('delete', 'sys/capabilities-self')).toMatchObject({ miss: 'operation', open: true })
    expect(found('read', 'nothing')).toMatchObject({ miss: 'path', pathParameters: {}, open: false })
  })

  test("a dot in an endpoint's path matches only a dot", () =>
    expect(found('read', 'sysXhealth')).toMatchObject({ miss: 'path' }))
})
