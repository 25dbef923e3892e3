import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../shared/api/errors.ts'
import { readParameterFields } from '../../../shared/api/fields.ts'
import type { ClusterMode } from '../../../shared/model/cluster.ts'
import { key } from '../../../shared/storage/kinds.ts'
import {
  healthFields,
  readLeader,
  showHealth,
  showInitStatus,
  showSealStatus,
} from '../../../shared/system/health.ts'
import { clusterRecord } from '../../builders/cluster-record.ts'
import { licenceKey, licenceText } from '../../builders/licence.ts'
import { callWith } from '../../support/requests/call.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { NOW } from '../tokens/support.ts'

const signer = licenceKey()

const record = (mode: ClusterMode) => clusterRecord({ id: 'c-1', name: 'east', mode, initialisedAt: NOW })

const callIn = (mode: ClusterMode | undefined, given: object = {}, journal?: object, contact?: object) =>
  callWith({
    fetched: { get: () => contact && { data: contact } },
    parameters: given,
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
      store: memoryStore([
        item(key('recovery-key'), { shares: 5, threshold: 3, verifier: 'v', shareHashes: [] } as never, 'r'),
      ]).store,
      journalView: { readStatus: async () => ({ ...(journal ? { head: journal } : {}) }) },
    },
  })

const shown = async (
  mode: ClusterMode | undefined,
  given: object = {},
  head: object = { mode: 'writing' },
) => {
  const { answer } = await showHealth(callIn(mode, given, head))
  if (answer.kind !== 'plain') throw new Error('health is plain')
  return answer
}

describe('the status of sys/health', () => {
  test.each<[situation: ClusterMode | undefined, status: number, override: string]>([
    [undefined, 501, 'uninitcode'],
    ['disabled', 200, 'activecode'],
    ['primary', 200, 'activecode'],
    ['secondary', 472, 'drsecondarycode'],
  ])('a cluster that is %s has the status %i, unless %s overrides it', async (mode, status, override) => {
    expect((await shown(mode)).status).toBe(status)
    expect((await shown(mode, { [override]: '299' })).status).toBe(299)
    const others = {
      uninitcode: '201',
      activecode: '202',
      drsecondarycode: '203',
      standbycode: '204',
      sealedcode: '205',
    }
    const { [override as keyof typeof others]: _, ...rest } = others
    expect((await shown(mode, rest)).status).toBe(status)
  })

  test('a changing role is always 503', async () => {
    for (const mode of ['closed', 'draining', 'applying'])
      expect((await shown('primary', { activecode: '200' }, { mode })).status, mode).toBe(503)
    expect((await shown('bootstrapping')).status).toBe(503)
    expect((await shown('bootstrapping', { activecode: '200', drsecondarycode: '200' })).status).toBe(503)
  })

  test.each(['x', '', '99', '199', '600', '2000', '200.5', '-200', ' 200'])(
    'the override %j is refused',
    async code => {
      for (const name of ['activecode', 'standbycode', 'sealedcode'])
        await expect(shown('primary', { [name]: code })).rejects.toThrow(`${name} must be an HTTP status`)
    },
  )

  test('parameters about standby nodes are ignored', async () => {
    expect((await shown('primary', { standbyok: true, perfstandbyok: false })).status).toBe(200)
  })

  test.each(['standbyok', 'perfstandbyok'])('the parameter %s is a boolean, in the usual words', name => {
    for (const word of ['', 'true', '0', 'T'])
      expect(readParameterFields(healthFields, { [name]: word }).unknown).toEqual([])
    for (const word of ['maybe', 'yes', '2'])
      expect(() => readParameterFields(healthFields, { [name]: word })).toThrow(`${name} must be a boolean`)
  })

  test('the body is the same for every status', async () => {
    const of = async (mode: ClusterMode | undefined) => (await shown(mode)).body
    expect(await of('secondary')).toEqual({
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
    expect(await of(undefined)).toMatchObject({
      initialized: false,
      replication_dr_mode: 'disabled',
      cluster_name: 'planned',
      cluster_id: '',
    })
    for (const mode of ['disabled', 'primary', 'bootstrapping'] as const)
      expect(Object.keys(await of(mode)).filter(name => name !== 'last_wal')).toEqual(
        Object.keys(await of('secondary')),
      )
  })
})

describe('sys/health with healthChecksKeyring', () => {
  /** Makes an environment that answers health requests, and counts the calls to KMS. */
  function environment(mode: ClusterMode, checks = true) {
    const asked: string[] = []
    const [memory, told] = [{}, [] as unknown[]]
    const kms = { opens: true }
    const at = async (now: number, given: object = {}) => {
      const call = callIn(mode, given, { mode: 'writing' })
      Object.assign(call, { now })
      Object.assign(call.ports, {
        memory,
        log: { error: (...line: unknown[]) => told.push(line) },
        cipher: {
          expectKeyring: () => undefined,
          encrypt: async () => {
            asked.push('kms')
            if (!kms.opens) throw new ApiError('busy', '', { cause: new TypeError('disabled') })
            return 'v1:text'
          },
        },
      })
      Object.assign(call.ports.deployment, { healthChecksKeyring: checks })
      const { answer } = await showHealth(call)
      return answer.kind === 'plain' ? [answer.status, answer.body['sealed']] : []
    }
    return { at, kms, asked, told }
  }

  test.each(['disabled', 'primary'] as const)(
    'an active cluster (%s) whose KMS call fails has status 503, or the requested status',
    async mode => {
      const { at, kms, told } = environment(mode)
      expect(await at(NOW)).toEqual([200, false])
      kms.opens = false
      expect(await at(NOW + 10_000)).toEqual([503, true])
      expect(await at(NOW + 10_000, { activecode: '201' })).toEqual([503, true])
      expect(await at(NOW + 10_000, { sealedcode: '299' })).toEqual([299, true])
      expect(told).toEqual([[expect.any(String), { why: 'KMS: TypeError' }]])
      kms.opens = true
      expect(await at(NOW + 20_000)).toEqual([200, false])
    },
  )

  test('KMS is called at most every ten seconds', async () => {
    const { at, asked } = environment('primary')
    for (const ms of [0, 1, 9_999]) await at(NOW + ms)
    expect(asked).toHaveLength(1)
    await at(NOW + 10_000)
    expect(asked).toHaveLength(2)
    // the clock was set back between two requests
    await at(NOW)
    expect(asked).toHaveLength(3)
  })

  test('KMS is not called on a secondary or without the setting', async () => {
    const secondary = environment('secondary')
    secondary.kms.opens = false
    expect(await secondary.at(NOW)).toEqual([472, false])
    const unset = environment('primary', false)
    unset.kms.opens = false
    expect(await unset.at(NOW)).toEqual([200, false])
    expect([secondary.asked, unset.asked]).toEqual([[], []])
  })
})

describe('the replication fields of health', () => {
  const contact = { roundTripMs: 12, skewMs: -300, canaryAt: NOW - 2000 }
  const bodyOf = async (mode: ClusterMode) => {
    const { answer } = await showHealth(callIn(mode, {}, { last: 7 }, contact))
    return answer.kind === 'plain' ? answer.body : {}
  }

  test('a primary reports its position', async () => {
    expect(await bodyOf('primary')).toMatchObject({ last_wal: 7, echo_duration_ms: 0, clock_skew_ms: 0 })
  })

  test('a secondary reports its last contact, by its own clock', async () => {
    const body = await bodyOf('secondary')
    expect(body).not.toHaveProperty('last_wal')
    expect(body).toMatchObject({
      echo_duration_ms: 12,
      clock_skew_ms: -300,
      replication_primary_canary_age_ms: 1700,
    })
  })

  test('the canary age is that of the newest received entry', async () => {
    const head = { mode: 'applying', last: 9, stagedAt: NOW - 800 }
    const { answer } = await showHealth(callIn('secondary', {}, head, contact))
    expect(answer).toMatchObject({ body: { replication_primary_canary_age_ms: 500 } })
  })

  test('without replication sys/health reads no replication items', async () => {
    expect(await bodyOf('disabled')).toMatchObject({ echo_duration_ms: 0, clock_skew_ms: 0 })
  })
})

test('without a licence the licence field is omitted', async () => {
  const call = callIn('primary')
  Object.assign(call.ports.deployment, { license: { text: '', publicKey: '' } })
  expect((await showHealth(call)).answer).not.toHaveProperty('body.license')
})

describe('sys/seal-status, sys/leader, sys/init', () => {
  test('an initialised cluster is never sealed', async () => {
    expect((await showSealStatus(callIn('primary'))).answer).toMatchObject({
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

  test('an uninitialised cluster is sealed and has neither name nor shares', async () => {
    const { answer } = await showSealStatus(callIn(undefined))
    expect(answer).toMatchObject({ status: 200, body: { initialized: false, sealed: true, t: 0, n: 0 } })
    expect(answer).not.toHaveProperty('body.cluster_name')
  })

  test('the cluster reports itself as leader', () => {
    expect(readLeader(callIn('primary')).answer).toMatchObject({
      body: { is_self: true, leader_address: 'https://a' },
    })
  })

  test.each([
    ['abc.execute-api.eu-west-1.amazonaws.com', false, 'https://abc.execute-api.eu-west-1.amazonaws.com'],
    ['127.0.0.1:8200', true, 'http://127.0.0.1:8200'],
    ['', false, ''],
  ])("without a configured address the leader is the request's domain: %j", (domain, plain, address) => {
    const call = callWith({
      request: { domain },
      ports: { deployment: { apiAddress: '', plainEndpoints: plain } },
    })
    expect(readLeader(call).answer).toMatchObject({
      body: { leader_address: address, leader_cluster_address: address },
    })
  })

  test.each([
    [
      'as an administrator has set it',
      { clusterAddr: 'https://link', reachedAt: 'https://asked' },
      'https://link',
    ],
    ['that of the deployment', { reachedAt: 'https://asked' }, 'https://a'],
  ])('leader_cluster_address is the address of the link: %s', (_, parts, address) => {
    const call = callIn('primary')
    Object.assign(call.cluster?.record ?? {}, parts)
    expect(readLeader(call).answer).toMatchObject({
      body: { leader_address: 'https://a', leader_cluster_address: address },
    })
  })

  test('sys/init returns whether the cluster is initialised', () => {
    expect(showInitStatus(callIn(undefined)).answer).toMatchObject({ body: { initialized: false } })
    expect(showInitStatus(callIn('secondary')).answer).toMatchObject({ body: { initialized: true } })
  })
})
