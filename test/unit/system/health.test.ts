import { describe, expect, test } from 'vitest'
import type { ClusterMode, ClusterRecord } from '../../../shared/model/cluster.ts'
import { health, initStatus, leader, sealStatus } from '../../../shared/system/health.ts'
import { licenceKey, licenceText } from '../../builders/licence.ts'
import { callWith } from '../support/call.ts'
import { NOW } from '../tokens/support.ts'

const signer = licenceKey()

const record = (mode: ClusterMode): ClusterRecord => ({
  id: 'c-1',
  name: 'east',
  mode,
  keyring: 'k-1',
  term: 1,
  initialisedAt: NOW,
})

const callIn = (mode: ClusterMode | undefined, given: object = {}) =>
  callWith({
    given,
    now: NOW,
    ...(mode ? { cluster: { record: record(mode), readAt: NOW } } : {}),
    ports: {
      deployment: {
        version: '0.1.2',
        apiVersion: '1.19.5',
        clusterName: 'planned',
        apiAddress: 'https://a',
        license: {
          text: licenceText(signer.privateKey, { exp: 1_800_000_000 }),
          publicKey: signer.publicKey,
        },
      },
      store: { read: async () => [{ data: { shares: 5, threshold: 3 } }] },
    },
  })

const shown = (mode: ClusterMode | undefined, given: object = {}) => {
  const { answer } = health(callIn(mode, given))
  if (answer.kind !== 'plain') throw new Error('health is plain')
  return answer
}

describe('sys/health as a status', () => {
  test.each<[situation: ClusterMode | undefined, status: number, override: string]>([
    [undefined, 501, 'uninitcode'],
    ['disabled', 200, 'activecode'],
    ['primary', 200, 'activecode'],
    ['secondary', 472, 'drsecondarycode'],
  ])('%s is %i, unless %s says otherwise', (mode, status, override) => {
    expect(shown(mode).status).toBe(status)
    expect(shown(mode, { [override]: '299' }).status).toBe(299)
    const others = {
      uninitcode: '201',
      activecode: '202',
      drsecondarycode: '203',
      standbycode: '204',
      sealedcode: '205',
    }
    const { [override as keyof typeof others]: _, ...rest } = others
    expect(shown(mode, rest).status).toBe(status)
  })

  test('a change of the role is 503, whatever is asked for', () => {
    expect(shown('bootstrapping').status).toBe(503)
    expect(shown('bootstrapping', { activecode: '200', drsecondarycode: '200' }).status).toBe(503)
  })

  test.each(['x', '', '99', '199', '600', '2000', '200.5', '-200', ' 200'])(
    'the override %j is refused',
    code => {
      for (const name of ['activecode', 'standbycode', 'sealedcode'])
        expect(() => shown('primary', { [name]: code })).toThrow(`${name} must be an HTTP status`)
    },
  )

  test('words for standby nodes mean nothing here', () => {
    expect(shown('primary', { standbyok: 'yes', perfstandbyok: '' }).status).toBe(200)
  })

  test('the body is the same in every situation', () => {
    const of = (mode: ClusterMode | undefined) => shown(mode).body
    expect(of('secondary')).toEqual({
      initialized: true,
      sealed: false,
      standby: false,
      performance_standby: false,
      replication_performance_mode: 'disabled',
      replication_dr_mode: 'secondary',
      server_time_utc: Math.floor(NOW / 1000),
      version: '1.19.5',
      product_version: '0.1.2',
      enterprise: true,
      cluster_name: 'east',
      cluster_id: 'c-1',
      echo_duration_ms: 0,
      clock_skew_ms: 0,
      replication_primary_canary_age_ms: 0,
      license: { state: 'autoloaded', expiry_time: '2027-01-15T08:00:00Z', terminated: false },
    })
    expect(of(undefined)).toMatchObject({
      initialized: false,
      replication_dr_mode: 'disabled',
      cluster_name: 'planned',
      cluster_id: '',
    })
    for (const mode of ['disabled', 'primary', 'bootstrapping'] as const)
      expect(Object.keys(of(mode))).toEqual(Object.keys(of('secondary')))
  })
})

test('without a licence nothing is said of one', () => {
  const call = callIn('primary')
  Object.assign(call.ports.deployment, { license: { text: '', publicKey: '' } })
  expect(health(call).answer).not.toHaveProperty('body.license')
})

describe('sys/seal-status, sys/leader, sys/init', () => {
  test('an initialised cluster is never sealed', async () => {
    expect((await sealStatus(callIn('primary'))).answer).toMatchObject({
      status: 200,
      body: {
        type: 'awskms',
        version: '1.19.5',
        product_version: '0.1.2',
        initialized: true,
        sealed: false,
        t: 3,
        n: 5,
        recovery_seal: true,
        cluster_name: 'east',
        cluster_id: 'c-1',
      },
    })
  })

  test('before that it is, and has neither name nor shares', async () => {
    const { answer } = await sealStatus(callIn(undefined))
    expect(answer).toMatchObject({ status: 200, body: { initialized: false, sealed: true, t: 0, n: 0 } })
    expect(answer).not.toHaveProperty('body.cluster_name')
  })

  test('the cluster leads itself', () => {
    expect(leader(callIn('primary')).answer).toMatchObject({
      body: { is_self: true, leader_address: 'https://a' },
    })
  })

  test.each([
    ['abc.execute-api.eu-west-1.amazonaws.com', false, 'https://abc.execute-api.eu-west-1.amazonaws.com'],
    ['127.0.0.1:8200', true, 'http://127.0.0.1:8200'],
    ['', false, ''],
  ])('without a configured address it is where the request was sent: %j', (domain, plain, address) => {
    const call = callWith({
      request: { domain },
      ports: { deployment: { apiAddress: '', plainEndpoints: plain } },
    })
    expect(leader(call).answer).toMatchObject({
      body: { leader_address: address, leader_cluster_address: address },
    })
  })

  test('whether it is initialised', () => {
    expect(initStatus(callIn(undefined)).answer).toMatchObject({ body: { initialized: false } })
    expect(initStatus(callIn('secondary')).answer).toMatchObject({ body: { initialized: true } })
  })
})
