import { describe, expect, test } from 'vitest'
import {
  type Endpoint,
  type EndpointUse,
  endpointUses,
  pathsOf,
  routesOf,
  usesOf,
} from '../../../shared/api/endpoint.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import { matchEndpoint } from '../../../shared/http/match.ts'
import { anonymous, deprecated, type Kind, required, rows } from './interface.ts'

const all = endpointGroups.flatMap(group => group.endpoints)
const full = (path: string) => path.replace(/^A\//, '/auth/:mount/')
const short = (path: string) => path.replace(/^\/auth\/:mount\//, 'A/')
const rowOf = (method: string, path: string): Endpoint[] =>
  all.filter(row => row.method === method && pathsOf(row).includes(full(path)))

const either = (...types: string[]) => ({ oneOf: types.map(type => ({ type })) })
const schemas: Record<Kind, unknown> = {
  string: { type: 'string' },
  int: { type: 'integer' },
  boolean: { type: 'boolean' },
  list: { oneOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] },
  duration: either('integer', 'string'),
  'string or object': {},
  'map of lists': {
    type: 'object',
    additionalProperties: { oneOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] },
  },
}

describe('endpoints of the documented API', () => {
  test.each(rows)('%s %s exists once, with its fields', (method, path, fields) => {
    const [row, ...more] = rowOf(method, path)
    expect(more).toEqual([])
    expect(Object.keys(row?.fields ?? {})).toEqual(expect.arrayContaining(Object.keys(fields)))
    for (const [name, kind] of Object.entries(fields))
      expect({ [name]: row?.fields[name]?.schema }).toEqual({ [name]: schemas[kind] })
  })

  test('the documented paths have only the documented methods', () => {
    const paths = new Set(rows.map(([, path]) => path))
    const found = all.filter(row => paths.has(short(row.path))).map(row => `${row.method} ${short(row.path)}`)
    expect(found.sort()).toEqual(rows.map(([method, path]) => `${method} ${path}`).sort())
  })

  test("the endpoints have only documented fields, fields of Vault's clients, and deprecated names", () => {
    const extra = rows.flatMap(([method, path, fields]) => {
      const known = method === 'LIST' ? ['after', 'limit'] : []
      return rowOf(method, path).flatMap(row =>
        Object.keys(row.fields)
          .filter(name => !Object.hasOwn(fields, name) && !known.includes(name))
          .map(name => `${path} ${name}`),
      )
    })
    // fields that Vault's clients send and this service lacks, logins by token, deprecated names, and one ignored field
    expect(extra.sort()).toEqual([
      'A/config/client disable_automated_rotation',
      'A/config/client identity_token_audience',
      'A/config/client identity_token_key',
      'A/config/client identity_token_ttl',
      'A/config/client role_arn',
      'A/config/client rotation_period',
      'A/config/client rotation_policy',
      'A/config/client rotation_schedule',
      'A/config/client rotation_window',
      'A/config/identity jwt_alias',
      'A/config/identity jwt_metadata',
      'A/login jwt',
      'A/role/:role allow_instance_identity_role',
      'A/role/:role bound_eks_cluster_arn',
      'A/role/:role bound_federated_provider',
      'A/role/:role bound_identity_store_user_id',
      'A/role/:role bound_kubernetes_namespace',
      'A/role/:role bound_kubernetes_service_account',
      'A/role/:role bound_lambda_function_arn',
      'A/role/:role bound_metadata_version',
      'A/role/:role bound_organization_id',
      'A/role/:role bound_organization_path',
      'A/role/:role bound_principal_tags',
      'A/role/:role bound_source_identity',
      'A/role/:role cap_to_session',
      'A/role/:role lease',
      'A/role/:role max_ttl',
      'A/role/:role period',
      'A/role/:role revoke_on_termination',
      'A/role/:role ttl',
    ])
  })

  test.each(required)('%s requires %s', (path, field) => {
    expect(rowOf('POST', path)[0]?.fields[field]?.required).toBe(true)
  })

  test('the older name of the certificate field is accepted', () => {
    const [row] = rowOf('POST', 'A/config/certificate/:cert_name')
    expect(row?.fields['cloud_public_cert']?.formerly).toBe('aws_public_cert')
  })

  test('only login is anonymous', () => {
    const found = rows
      .filter(([method, path]) => rowOf(method, path)[0]?.access.by === 'anyone')
      .map(([method, path]) => `${method} ${path}`)
    expect(found).toEqual(anonymous)
  })
})

test('a deprecated field names its replacement for policy constraints', () => {
  const deprecated = all.flatMap(({ path, fields }) =>
    Object.entries(fields).flatMap(([name, { doc, replacedBy: now }]) =>
      doc.startsWith('Deprecated: ') || now !== undefined
        ? [{ at: `${path} ${name}`, doc, now, fields }]
        : [],
    ),
  )
  expect(deprecated.length).toBeGreaterThan(8)
  for (const { at, doc, now, fields } of deprecated) {
    expect(doc, at).toBe(`Deprecated: ${now}`)
    expect(Object.keys(fields), at).toContain(now)
  }
})

describe('deprecated paths', () => {
  const moved = deprecated.flatMap(([old, current]) =>
    rows
      .filter(([, path]) => path === current || path.startsWith(`${current}/`))
      .map(([method, path]) => [method, path.replace(current, old), path] as const),
  )

  test.each(moved)('%s %s is the same endpoint as %s', (method, old, current) => {
    expect(rowOf(method, old)).toEqual(rowOf(method, current))
    expect(rowOf(method, old)[0]?.formerly).toBe(full(old))
  })

  test('the list of deprecated paths is complete', () => {
    const known = moved.map(([method, old]) => `${method} ${full(old)}`)
    expect(all.flatMap(row => (row.formerly ? [`${row.method} ${row.formerly}`] : [])).sort()).toEqual(
      known.sort(),
    )
  })

  test('roles are listed under both spellings', () => {
    expect(rowOf('LIST', 'A/role')).toEqual(rowOf('LIST', 'A/roles'))
  })
})

/** The required capabilities by kind of endpoint, as in docs/spec/policies.md. */
const capabilities: [string, string][] = [
  ['POST A/config/client', 'by-existence'],
  ['GET A/config/client', 'read'],
  ['DELETE A/config/client', 'delete'],
  ['POST A/config/rotate-root', 'update'],
  ['POST A/config/identity', 'update'],
  ['GET A/config/identity', 'read'],
  ['POST A/config/review', 'update'],
  ['GET A/config/review', 'read'],
  ['GET A/review', 'read'],
  ['POST A/review', 'update'],
  ['POST A/config/certificate/:cert_name', 'by-existence'],
  ['POST A/config/sts/:account_id', 'by-existence'],
  ['LIST A/config/certificates', 'list'],
  ['LIST A/config/sts', 'list'],
  ['POST A/config/tidy/identity-accesslist', 'by-existence'],
  ['POST A/config/tidy/roletag-denylist', 'by-existence'],
  ['POST A/role/:role', 'by-existence'],
  ['GET A/role/:role', 'read'],
  ['DELETE A/role/:role', 'delete'],
  ['LIST A/roles', 'list'],
  ['POST A/role/:role/tag', 'update'],
  ['POST A/roletag-denylist/:role_tag', 'update'],
  ['GET A/roletag-denylist/:role_tag', 'read'],
  ['DELETE A/roletag-denylist/:role_tag', 'delete'],
  ['LIST A/roletag-denylist', 'list'],
  ['GET A/identity-accesslist/:instance_id', 'read'],
  ['DELETE A/identity-accesslist/:instance_id', 'delete'],
  ['LIST A/identity-accesslist', 'list'],
  ['POST A/tidy/identity-accesslist', 'update'],
  ['POST A/tidy/roletag-denylist', 'update'],
  ['POST /auth/token/create', 'create-or-update'],
  ['POST /auth/token/create-orphan', 'update'],
  ['POST /auth/token/create/:role_name', 'update'],
  ['POST /auth/token/lookup', 'update'],
  ['GET /auth/token/lookup', 'read'],
  ['GET /auth/token/lookup-self', 'read'],
  ['POST /auth/token/lookup-self', 'update'],
  ['POST /auth/token/lookup-accessor', 'update'],
  ['POST /auth/token/renew', 'update'],
  ['POST /auth/token/renew-self', 'update'],
  ['POST /auth/token/renew-accessor', 'update'],
  ['POST /auth/token/revoke', 'update'],
  ['POST /auth/token/revoke-self', 'update'],
  ['POST /auth/token/revoke-accessor', 'update'],
  ['POST /auth/token/revoke-orphan', 'update with sudo'],
  ['LIST /auth/token/accessors', 'list with sudo'],
  ['LIST /auth/token/roles', 'list'],
  ['GET /auth/token/roles/:role_name', 'read'],
  ['POST /auth/token/roles/:role_name', 'by-existence'],
  ['DELETE /auth/token/roles/:role_name', 'delete'],
  ['POST /auth/token/tidy', 'update'],
  ['POST /sys/rotate', 'update with sudo'],
  ['GET /sys/key-status', 'read'],
  ['GET /sys/license/status', 'read'],
  ['POST /sys/replication/dr/primary/enable', 'update'],
  ['POST /sys/replication/dr/primary/disable', 'update'],
  ['POST /sys/replication/dr/primary/secondary-token', 'update with sudo'],
  ['POST /sys/replication/dr/primary/revoke-secondary', 'update'],
  ['POST /sys/replication/dr/secondary/enable', 'update'],
  ['POST /sys/replication/dr/secondary/generate-public-key', 'update'],
]

test.each(capabilities)('%s requires %s', (name, wanted) => {
  const [method = '', path = ''] = name.split(' ')
  const access = rowOf(method, path)[0]?.access
  expect(access?.by === 'policy' && `${access.capability}${access.sudo ? ' with sudo' : ''}`).toBe(wanted)
})

describe('the endpoint table', () => {
  test('method and path identify one endpoint', () => {
    const names = all.flatMap(row => pathsOf(row).map(path => `${row.method} ${path}`))
    expect(names).toEqual([...new Set(names)])
  })

  test('only probes, status and initialisation are served in every cluster role', () => {
    const always = all.filter(row => row.serves === 'always').map(row => `${row.method} ${row.path}`)
    expect(always.sort()).toEqual([
      'GET /sys/health',
      'GET /sys/init',
      'GET /sys/leader',
      'GET /sys/replication/dr/status',
      'GET /sys/replication/performance/status',
      'GET /sys/replication/status',
      'GET /sys/seal-status',
      'POST /sys/init',
    ])
  })

  test('every DELETE declares a use that writes', () => {
    const writing: readonly EndpointUse[] = ['write', 'ceremony', 'rekey']
    const writers = all
      .filter(row => row.method === 'DELETE' && !row.summary.startsWith('Refused: '))
      .filter(row => !row.uses.some(use => writing.includes(use)))
    expect(writers.map(row => row.path)).toEqual([])
  })

  test('secret parameters are marked', () => {
    const secret = all.flatMap(row =>
      Object.entries(row.fields).flatMap(([name, field]) => (field.secret ? [name] : [])),
    )
    expect([...new Set(secret)].sort()).toEqual(
      [
        'accessor',
        'id',
        'identity',
        'jwt',
        'iam_request_headers',
        'iam_request_url',
        'nonce',
        'pkcs7',
        'secret_key',
        'signature',
        'token',
        'input',
        'key',
        'otp',
        'pgp_keys',
        'dr_operation_token',
        'encoded_token',
        'pgp_key',
      ].sort(),
    )
  })

  test('each group declares the uses of its endpoints', () => {
    for (const group of endpointGroups) {
      const wraps = group.endpoints.some(
        row =>
          row.answers === 'auth' ||
          (['token', 'policy'].includes(row.access.by) && ['data', 'keys'].includes(row.answers)),
      )
      const wanted = new Set([
        'read',
        'spend',
        ...(wraps ? ['mint'] : []),
        ...group.endpoints.flatMap(row => row.uses),
        ...(group.endpoints.some(row => row.access.by === 'operation-token') ? ['operation-token'] : []),
        ...(group.endpoints.some(row => row.licence) ? ['licence'] : []),
      ])
      expect(usesOf(group)).toEqual(endpointUses.filter(use => wanted.has(use)))
    }
  })
})

describe('gateway routes reach every endpoint', () => {
  const sample: Record<string, string> = { ':mount': 'cloud', ':role_tag': 'v1:a//b=', ':method_path': 'x' }
  const routed = endpointGroups.flatMap(group =>
    group.endpoints
      .filter(row => !row.unrouted)
      .flatMap(row => pathsOf(row).map(path => [group.name, row.method, path, group, row] as const)),
  )

  const covers = (route: string, path: string): boolean => {
    const pattern = route.replace(/\/\{proxy\+\}$/, '/.+').replace(/\{\w+\}/g, '[^/]+')
    return new RegExp(`^${pattern}$`).test(path)
  }

  test.each(routed)('%s: %s %s', (_, method, path, group, row) => {
    const typed = path.replace(/:\w+/g, name => sample[name] ?? 'name')
    expect(routesOf(group).some(route => covers(route, typed))).toBe(true)
    const operations = { POST: 'write', GET: 'read', LIST: 'list', DELETE: 'delete' } as const
    const found = matchEndpoint(group, operations[method], typed.slice(1))
    expect('endpoint' in found && found.endpoint).toBe(row)
  })
})
