import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ClusterMode } from '../../../../shared/model/cluster.ts'
import { replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { filled, ways } from '../../../support/requests/endpoints.ts'
import { iamRole } from '../../../support/requests/things.ts'
import { auditText } from '../../../support/service/audit.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { drStatus } from '../../../support/set/dr-status.ts'
import { tableStore } from '../../../support/tables/store.ts'

let host: Awaited<ReturnType<typeof ownHost>>
beforeAll(async () => {
  host = await ownHost()
})

async function become(mode: ClusterMode): Promise<void> {
  const { store, commit } = tableStore(host)
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('there is no cluster record')
  await commit(replaceItem(key('cluster'), item, { ...item.data, mode }))
}

const DISABLED = {
  errors: [
    'path disabled: this cluster is a DR secondary; send the request to its primary (GET sys/replication/dr/status shows it)',
  ],
}

const status = async (path: string) => (await host.api('GET', path, undefined, { token: '' })).status

describe('a DR secondary: CVE-2021-27668, CVE-2022-36129', () => {
  beforeAll(async () => {
    await host.api('POST', '/auth/cloud/role/kept', iamRole.body)
    await become('secondary')
  })
  afterAll(() => become('disabled'))

  const closed = ways.filter(({ endpoint }) => ['active', 'primary', 'demotion'].includes(endpoint.serves))
  test.each(closed)(
    'rejects $title with any token or without a token',
    async ({ endpoint, path: template }) => {
      const path = filled(template, '/auth/cloud')
      for (const token of [host.root_token, '', 'hvs.unknown'])
        for (const method of [endpoint.method, 'OPTIONS', 'LIST']) {
          const { status: code, body } = await host.api(method, path, undefined, { token })
          expect([code, body]).toEqual([400, DISABLED])
        }
      expect((await host.api('HEAD', path)).status).toBe(400)
    },
  )

  test('rejects unknown paths, malformed bodies and wrong verbs in the same way', async () => {
    for (const [method, path, body] of [
      ['GET', '/nothing', undefined],
      ['GET', '/auth/no/role/x', undefined],
      ['POST', '/auth/cloud/login', 'not JSON'],
      ['POST', '/auth/cloud/role/x', `{"x":"${'y'.repeat(1_100_000)}"}`],
      ['DELETE', '/auth/cloud/config/identity', undefined],
    ] as const) {
      const reply = await host.api(method, path, body)
      expect([reply.status, reply.body], path).toEqual([400, DISABLED])
    }
  })

  test('answers health, seal status, leader and init', async () => {
    const health = await host.api('GET', '/sys/health', undefined, { token: '' })
    expect([health.status, health.body]).toEqual([
      472,
      expect.objectContaining({
        initialized: true,
        sealed: false,
        standby: false,
        replication_dr_mode: 'secondary',
      }),
    ])
    expect((await host.api('HEAD', '/sys/health')).status).toBe(472)
    expect(await status('/sys/health?drsecondarycode=200')).toBe(200)
    expect(await status('/sys/health?activecode=299&standbyok=true')).toBe(472)
    for (const path of ['/sys/seal-status', '/sys/leader', '/sys/init']) expect(await status(path)).toBe(200)
    const init = await host.api('PUT', '/sys/init', {}, { token: '' })
    expect([init.status, init.body.errors]).toEqual([400, ['the cluster is already initialised']])
  })

  test('counts rejected requests in the audit log instead of writing an audit entry for each request', async () => {
    const before = auditText(host.directory).length
    for (let n = 0; n < 30; n++)
      await host.api('GET', '/auth/cloud/role/seen', undefined, { token: 'hvs.not-shown' })
    const entries = auditText(host.directory).slice(before)
    expect(entries.split('\n').length).toBeLessThan(10)
    expect(entries).not.toContain('role/seen')
    expect(entries).not.toContain('hvs.not-shown')
    expect(auditText(host.directory)).toContain('"audit":"refusals"')
  })

  test.each(['/sys/replication/dr/status', '/sys/replication/status', '/sys/replication/performance/status'])(
    'returns its status without a token and in any namespace: %s',
    async path => {
      const headers = { 'x-vault-namespace': 'team', 'x-vault-wrap-ttl': '60' }
      const reply = await host.api('GET', path, undefined, { token: '', headers })
      expect([reply.status, reply.headers['cache-control']]).toEqual([200, 'no-store'])
      const { data } = reply.body
      if (path.includes('performance')) expect(data).toEqual({ mode: 'disabled' })
      else expect(v.parse(drStatus, path.includes('dr') ? data : data.dr).mode).toBe('secondary')
    },
  )
})

describe('a cluster with another role', () => {
  test.each<[mode: ClusterMode, code: number, serves: boolean]>([
    ['bootstrapping', 503, false],
    ['primary', 200, true],
    ['disabled', 200, true],
  ])('%s: health answers %i', async (mode, code, serves) => {
    await become(mode)
    const health = await host.api('GET', '/sys/health')
    expect([health.status, health.body.replication_dr_mode]).toEqual([code, mode])
    const { status: read } = await host.api('GET', '/auth/cloud/role/kept')
    expect(read).toBe(serves ? 200 : 503)
    const { body } = await host.api('GET', '/sys/replication/status', undefined, { token: '' })
    expect(v.parse(drStatus, body.data.dr).mode).toBe(mode)
    expect(body.data.performance).toEqual({ mode: 'disabled' })
  })
})
