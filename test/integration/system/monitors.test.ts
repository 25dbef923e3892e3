import { describe, expect, test } from 'vitest'
import { api, cluster, done } from '../../support/service/cluster.ts'

const get = (path: string) => api('GET', path, undefined, { token: '' })
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

describe('sys/health', () => {
  test('describes an active cluster', async () => {
    const { status, body, headers } = await get('/sys/health')
    expect(status).toBe(200)
    expect(body).toEqual({
      initialized: true,
      sealed: false,
      standby: false,
      performance_standby: false,
      replication_performance_mode: 'disabled',
      replication_dr_mode: 'disabled',
      server_time_utc: expect.any(Number),
      version: '1.19.5',
      product_version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      enterprise: true,
      cluster_name: 'test',
      cluster_id: expect.stringMatching(UUID),
      echo_duration_ms: 0,
      clock_skew_ms: 0,
      replication_primary_canary_age_ms: 0,
      license: { state: 'autoloaded', expiry_time: expect.any(String), terminated: false },
    })
    expect(Math.abs(body.server_time_utc - Date.now() / 1000)).toBeLessThan(60)
    expect(headers['cache-control']).toBe('no-store')
  })

  test.each([
    ['activecode=299', 299],
    ['activecode=503', 503],
    ['activecode=200&drsecondarycode=299', 200],
    ['uninitcode=299&sealedcode=299&standbycode=299&performancestandbycode=299&haunhealthycode=299', 200],
    ['standbyok=true&perfstandbyok', 200],
    ['unknown=1', 200],
  ])('with ?%s answers %i', async (query, status) => {
    for (const method of ['GET', 'HEAD'])
      expect((await api(method, `/sys/health?${query}`, undefined, { token: '' })).status).toBe(status)
  })

  const codes = [
    'activecode',
    'drsecondarycode',
    'uninitcode',
    'sealedcode',
    'standbycode',
    'performancestandbycode',
  ]
  test.each(codes)('rejects %s unless the value is an HTTP status', async name => {
    for (const value of ['', 'x', '0', '99', '600', '-200', '2000', '20.5', '0xc8', '200 '])
      expect((await get(`/sys/health?${name}=${encodeURIComponent(value)}`)).status, value).toBe(400)
    expect((await get(`/sys/health?${name}=200&${name}=299`)).status).toBe(400)
  })
})

describe('sys/seal-status, sys/leader, sys/init', () => {
  test('seal-status describes an unsealed cluster, with its recovery shares', async () => {
    const { cluster_id } = (await get('/sys/health')).body
    expect((await get('/sys/seal-status')).body).toEqual({
      type: 'awskms',
      initialized: true,
      sealed: false,
      t: 3,
      n: 5,
      progress: 0,
      nonce: '',
      version: '1.19.5',
      product_version: expect.stringMatching(/^\d+\./),
      build_date: '',
      migration: false,
      recovery_seal: true,
      recovery_seal_type: 'shamir',
      storage_type: 'dynamodb',
      cluster_name: 'test',
      cluster_id,
    })
  })

  test('leader returns the address of the cluster', async () => {
    const { body } = await get('/sys/leader')
    expect(body).toMatchObject({ ha_enabled: true, is_self: true, performance_standby: false })
    expect(body.leader_address).toBe(new URL(cluster.base_url).origin)
    expect(body.leader_cluster_address).toBe(body.leader_address)
  })

  test('init reports an initialised cluster, and a second initialisation is rejected', async () => {
    expect((await get('/sys/init')).body).toEqual({ initialized: true })
    const again = await api('PUT', '/sys/init', {}, { token: '' })
    expect([again.status, again.body.errors]).toEqual([400, ['the cluster is already initialised']])
    expect(cluster.recovery_keys).toHaveLength(5)
    expect((await done('GET', '/auth/token/lookup-self')).body.data.policies).toEqual(['root'])
  })
})
