import { beforeAll, describe, expect, test } from 'vitest'
import { errorCodes } from '../../../shared/api/errors.ts'
import { filled, ways } from '../../support/requests/endpoints.ts'
import { api, done, fresh, freshMount, tokenWith } from '../../support/service/cluster.ts'

const GENERATE = ['/sys/generate-root', '/sys/replication/dr/secondary/generate-operation-token']

const CEREMONY = GENERATE.flatMap(path => [
  ...['GET', 'POST', 'DELETE'].flatMap(method => [`${method} ${path}/attempt`, `${method} ${path}`]),
  `POST ${path}/update`,
])

/** Rekeying needs no token when ceremonies are open. */
const REKEY = [
  ...['init', 'verify'].flatMap(name =>
    ['GET', 'POST', 'DELETE'].map(method => `${method} /sys/rekey-recovery-key/${name}`),
  ),
  'POST /sys/rekey-recovery-key/update',
]

/** Paths that are rejected for every caller, because this product has no such keys. */
const REFUSED = [
  ...['/sys/rekey', '/sys/rotate/root'].flatMap(path => [
    ...['init', 'verify'].flatMap(name =>
      ['GET', 'POST', 'DELETE'].map(method => `${method} ${path}/${name}`),
    ),
    `POST ${path}/update`,
  ]),
  'POST /sys/rotate/root',
  ...[
    '/sys/rekey/backup',
    '/sys/rekey/recovery-key-backup',
    '/sys/rekey-recovery-key/backup',
    '/sys/rotate/root/backup',
    '/sys/rotate/recovery/backup',
  ].flatMap(path => ['GET', 'DELETE'].map(method => `${method} ${path}`)),
]

const OPEN = [
  'POST /auth/:mount/login',
  // the wrapping token authorises the request
  'POST /sys/wrapping/unwrap',
  'POST /sys/wrapping/lookup',
  'POST /sys/wrapping/rewrap',
  'GET /sys/internal/ui/mounts',
  'GET /sys/health',
  'GET /sys/seal-status',
  'GET /sys/leader',
  'GET /sys/init',
  'GET /sys/replication/dr/status',
  'GET /sys/replication/status',
  'GET /sys/replication/performance/status',
  'POST /sys/init',
  // the answer depends only on the request
  'POST /sys/decode-token',
  // recovery shares authorise these requests; system/generate-root.test.ts tests them
  ...CEREMONY,
  ...REKEY,
  ...REFUSED,
]

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

describe('endpoints that need no token', () => {
  const open = ways.filter(({ endpoint }) => endpoint.access.by === 'anyone')

  test('are exactly these', () => {
    expect(open.map(({ title }) => title).sort()).toEqual([...OPEN].sort())
  })

  test.each(open.filter(({ title }) => ![...CEREMONY, ...REKEY].includes(title)))(
    '$title gives the same answer with any token',
    async ({ endpoint, path: template }) => {
      const path = filled(template, mount)
      const body = endpoint.method === 'POST' ? {} : undefined
      const bare = await api(endpoint.method, path, body, { token: '' })
      expect([200, 400]).toContain(bare.status)
      for (const token of [`hvs.${fresh()}`, 'hvb.1.x', 'x'])
        expect((await api(endpoint.method, path, body, { token })).status).toBe(bare.status)
    },
  )
})

describe('requests without a valid token do not reveal which paths exist: CVE-2020-25594', () => {
  const below = ['/role/x', '/roles', '/config/client', '/nothing/here', '', '/', '/login/x']
  const nowhere = [
    '/sys/nothing',
    '/nothing',
    '/',
    '/identity',
    '/auth/',
    '/auth/token/nothing',
    '/secret/data/x',
  ]

  test.each(['GET', 'POST', 'LIST', 'DELETE', 'PATCH', 'HEAD'])('%s', async method => {
    const paths = [...below.flatMap(path => [mount + path, `/auth/${fresh('no')}${path}`]), ...nowhere]
    const headers = { 'content-type': 'application/merge-patch+json' }
    for (const path of paths)
      for (const [token, text] of [
        ['', errorCodes.permission_denied.always],
        [`hvs.${fresh()}`, errorCodes.invalid_token.always],
      ] as const) {
        const reply = await api(method, path, undefined, { token, headers })
        const body = method === 'HEAD' ? '' : JSON.stringify({ errors: [text] })
        expect([reply.status, reply.text], path).toEqual([403, body])
      }
  })
})

const NO_NAME = 'unsupported path: role may hold letters, digits and "_", and "-" and "." inside'

describe('with a valid token', () => {
  test.each([
    ['GET', '/nothing/here', 404, 'unsupported path'],
    ['GET', '/role/x/tag', 405, 'unsupported operation'],
    ['GET', '/login', 405, 'unsupported operation'],
    ['POST', '/identity-accesslist/i-1', 405, 'unsupported operation'],
    ['DELETE', '/config/identity', 405, 'unsupported operation'],
    ['GET', '/role/-x', 404, NO_NAME],
    ['GET', '/role/x.', 404, NO_NAME],
    ['GET', '/role/a/b', 404, 'unsupported path'],
    [
      'GET',
      '/roles',
      405,
      'unsupported operation: this path is a listing: use the verb LIST, or GET with ?list=true',
    ],
    ['GET', '/role/caf%C3%A9', 404, NO_NAME],
  ])('%s %s gets %i under any policy', async (method, path, status, text) => {
    const token = await tokenWith('path "x" { capabilities = ["read"] }')
    const reply = await api(method, mount + path, undefined, { token })
    expect([reply.status, reply.body]).toEqual([status, { errors: [text] }])
  })

  test('a missing mount gets 404 when the policies cover the path, and 403 otherwise', async () => {
    const path = `/auth/${fresh('no')}/role/x`
    const allowed = await tokenWith(`path "${path.slice(1)}" { capabilities = ["read"] }`)
    const reply = await api('GET', path, undefined, { token: allowed })
    expect([reply.status, reply.body]).toEqual([404, { errors: [`no handler for route "${path.slice(1)}"`] }])
    const other = await tokenWith('path "x" { capabilities = ["read"] }')
    expect((await api('GET', path, undefined, { token: other })).status).toBe(403)
  })

  test('a token that is used up, or whose parent was revoked, is invalid', async () => {
    const parent = await tokenWith('path "auth/token/create" { capabilities = ["update"] }')
    const child = (await done('POST', '/auth/token/create', {}, { token: parent })).body.auth.client_token
    await done('POST', '/auth/token/revoke', { token: parent })
    expect((await api('GET', `${mount}/nothing`, undefined, { token: child })).status).toBe(403)
    // a rejected request counts as a use too
    const twice = await tokenWith('path "sys/auth" { capabilities = ["read"] }', { num_uses: 2 })
    const statuses = []
    for (const path of ['/sys/policy', '/sys/auth', '/sys/auth'])
      statuses.push((await api('GET', path, undefined, { token: twice })).status)
    expect(statuses).toEqual([403, 200, 403])
  })
})
