import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { rsaSha256, selfSignCertificate } from '../../../../infra/local/provider/documents/certificate.ts'
import { type CommonAlarm, commonAlarms } from '../../../../infra/watching/alarms.ts'
import { logBrokenHeadRules } from '../../../../shared/adapters/aws/storage/head.ts'
import { watchCertificates } from '../../../../shared/auth-method/config/watch-certificates.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { logLicenceExpiry } from '../../../../shared/system/license-status.ts'
import { metrics, toEmbeddedMetrics } from '../../../../shared/watching/metrics.ts'
import { workerDefinitions } from '../../../../shared/workers/workers.ts'
import { licenceKey, licenceText } from '../../../builders/licence.ts'
import { having } from '../../../support/set/member-ports.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import { TEST_NAMESPACE, watchedSet } from '../../../support/set/watched.ts'

// Tests that logs of a pair, or counts by AWS, turn each alarm on and off again.

const MINUTE = 60_000
const DR = '/sys/replication/dr'
const DAY = 86_400_000

let set: ClusterSet
let watched: Awaited<ReturnType<typeof watchedSet>>

beforeAll(async () => {
  set = await clusterSet(['east', 'west'])
  watched = await watchedSet(set)
  await set.enable('east')
  await set.join('west', 'east')
  await set.converge()
})

const isOn = (name: string, alarm: CommonAlarm): boolean => watched.isOn(name, alarm)
const minutes = (count: number): Promise<void> => watched.minutes(count)

/** Waits longer than any alarm looks back. */
const quietly = async (): Promise<void> => {
  set.pass(46 * MINUTE)
}

/** A certificate that expires in 2195. */
function certificate(): string {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const der = selfSignCertificate(publicKey, privateKey, rsaSha256).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${der.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

const round = (): Promise<void> => set.at('east').hour()

interface Scene {
  at: string
  cause: () => Promise<unknown> | unknown
  cure?: () => Promise<unknown> | unknown
}

/** Counts a metric as AWS does, without calling our code. */
const byAws = (name: CommonAlarm, value = 1): Scene => ({
  at: 'east',
  cause: () => watched.at('east').aws(name, set.clock.now(), value),
})

/**
 * Counts a Lambda metric for a function in each group of folders. A count in one of the folders is enough.
 */
const byLambda = (name: CommonAlarm, metric: string, folders: readonly string[]): Scene => ({
  at: 'east',
  cause: async () => {
    for (const folder of folders) {
      watched.at('east').lambda(folder, metric, set.clock.now())
      expect(isOn('east', name), folder).toBe(true)
      await quietly()
    }
    watched.at('east').lambda(folders[0] ?? '', metric, set.clock.now())
  },
})

/** Calls a function that has no route, and ignores the result, because only Lambda's metrics matter. */
const byInvocation = (folder: string, method: string, path: string): Scene => ({
  at: 'east',
  cause: async () => {
    expect((await set.at('east').request(method, path, {})).status).toBeLessThan(500)
    watched.at('east').lambda(folder, 'Invocations', set.clock.now())
  },
})

async function makeOperationToken(): Promise<void> {
  const anonymous = { token: '' }
  const path = `${DR}/secondary/generate-operation-token`
  const { body } = await set.at('west').request('PUT', `${path}/attempt`, {}, anonymous)
  for (const share of set.at('east').shares.slice(0, 3))
    await set.at('west').request('PUT', `${path}/update`, { nonce: body.nonce, key: share }, anonymous)
}

const checkTree = async (): Promise<void> => {
  set.pass(61_000)
  await set.at('east').ok('POST', '/sys/replication/merkle-check', {})
  await set.settled()
}

const scenes: Record<CommonAlarm, Scene> = {
  ServerErrors: {
    at: 'east',
    // API Gateway counts the requests that it forwards
    cause: async () => {
      const { kms, newMemory } = set.at('east')
      kms.setEnabled(false)
      newMemory()
      for (let period = 0; period < 2; period++) {
        for (let count = 0; count < 11; count++) {
          const { status } = await set.at('east').request('GET', '/sys/auth')
          if (status >= 500) watched.at('east').aws('ServerErrors', set.clock.now())
        }
        if (period === 0) set.pass(5 * MINUTE)
      }
    },
    cure: () => set.at('east').kms.setEnabled(true),
  },
  FunctionFailed: {
    at: 'east',
    cause: () => watched.reported('east', () => set.at('east').job({ job: 'no such job' })),
    cure: () => watched.reported('east', round),
  },
  Throttled: byLambda('Throttled', 'Throttles', ['login', 'link', 'on-audit-entries']),
  WorkersThrottled: byLambda(
    'WorkersThrottled',
    'Throttles',
    Object.keys(workerDefinitions).filter(name => name !== 'on-audit-entries'),
  ),
  ProviderThrottled: {
    at: 'east',
    // `test/integration/alone/login/alarms.test.ts` uses the lines of real logins
    cause: () => {
      for (const ago of [5 * MINUTE, 0]) {
        const at = set.clock.now() - ago
        const line = toEmbeddedMetrics({ Ec2Throttles: 4, StsThrottles: 7 }, TEST_NAMESPACE, at)
        watched.at('east').event(JSON.stringify({ level: 'INFO', message: 'request', ...line }), at)
      }
    },
  },
  Issuers: {
    at: 'east',
    // `test/integration/login/jwt.test.ts` causes the lines of real logins
    cause: () => {
      const at = set.clock.now()
      const line = toEmbeddedMetrics({ IssuerFaults: 1 }, TEST_NAMESPACE, at)
      watched.at('east').event(JSON.stringify({ level: 'ERROR', message: 'issuer', ...line }), at)
    },
  },
  Keyring: {
    at: 'west',
    cause: async () => {
      const { kms, newMemory } = set.at('west')
      kms.setEnabled(false)
      newMemory()
      expect((await set.at('west').request('POST', '/sys/replication/reindex', {})).status).toBe(503)
    },
    cure: () => set.at('west').kms.setEnabled(true),
  },
  Head: {
    at: 'west',
    cause: async () =>
      logBrokenHeadRules(set.at('west').ports, { ...(await set.at('west').head()), applied: 999 }, ''),
  },
  Corrupted: {
    at: 'east',
    // deletes an item as DynamoDB's time to live would, here an unexpired token
    cause: async () => {
      const { body } = await set.at('east').ok('POST', '/auth/token/create', { policies: ['default'] })
      const place = key('token', body.auth.accessor)
      const { journal } = set.at('east').ports
      const [item] = await journal.readRaw([place])
      if (!item) throw new Error('the token is not there')
      await journal.transact([{ kind: 'item', item: place, put: null, if: { rev: item.rev } }])
      await checkTree()
    },
    cure: async () => {
      await set.at('east').ok('POST', '/sys/replication/reindex', {})
      await set.settled()
      await checkTree()
    },
  },
  Peer: {
    at: 'west',
    cause: async () => {
      set.cut('east', 'west')
      set.pass(70_000)
      await minutes(4)
    },
    cure: async () => {
      set.heal('east', 'west')
      await minutes(11)
    },
  },
  NotReady: {
    at: 'west',
    cause: async () => {
      await minutes(2)
      set.at('west').kms.setEnabled(false)
      await minutes(32)
      // the secondary continues to follow with the keyring that it has already unwrapped
      await set.at('east').ok('POST', '/sys/policies/acl/while-away', { policy: 'path "a" {}' })
      await minutes(2)
      const [east, west] = await Promise.all([set.at('east').head(), set.at('west').head()])
      expect(west.applied).toBe(east.applied)
      const { body } = await set.at('west').ok('GET', `${DR}/status`, undefined, { token: '' })
      expect(body.data).toMatchObject({
        state: 'stream-wals',
        readiness: { ready: false, refused_by: ['keyring', 'silent'] },
      })
    },
    cure: async () => {
      set.at('west').kms.setEnabled(true)
      await minutes(46)
      const { body } = await set.at('west').ok('GET', `${DR}/status`, undefined, { token: '' })
      expect(body.data.readiness).toMatchObject({ ready: true, refused_by: [] })
    },
  },
  RoleChanged: {
    at: 'west',
    cause: async () => {
      const { giveToken, promote } = promotions(set)
      await minutes(2)
      await giveToken('west')
      expect((await promote('west')).status).toBe(200)
      await set.settled()
      await minutes(1)
    },
  },
  Licence: {
    at: 'east',
    cause: () => {
      const { ports } = set.at('east')
      const { privateKey, publicKey } = licenceKey()
      const text = licenceText(privateKey, { exp: Math.floor((set.clock.now() + 20 * DAY) / 1000) })
      const deployment = { ...ports.deployment, license: { text, publicKey } }
      logLicenceExpiry(having(ports, { deployment }))
    },
    cure: async () => {
      set.pass(3 * 60 * MINUTE)
      await round()
      const days = set.at('east').told.flatMap(({ measures }) => measures.LicenceDays ?? [])
      expect(days.at(-1)).toBeGreaterThan(30)
    },
  },
  Certificate: {
    at: 'east',
    cause: async () => {
      const { ports } = set.at('east')
      await set.at('east').ok('POST', '/auth/cloud/config/certificate/local', {
        cloud_public_cert: certificate(),
      })
      const now = set.clock.now()
      const late = having(ports, { clock: { ...ports.clock, now: () => Date.UTC(2195, 0, 1) } })
      const from = set.at('east').told.length
      await watchCertificates(late)
      // `watchCertificates` wrote the line with a clock of 2195, so the test sets the present time
      for (const line of set.at('east').told.slice(from)) line.at = now
    },
    cure: async () => {
      set.pass(3 * 60 * MINUTE)
      await round()
      const days = set.at('east').told.flatMap(({ measures }) => measures.CertificateDays ?? [])
      expect(days.at(-1)).toBeGreaterThan(30)
    },
  },
  WorkflowFailed: byAws('WorkflowFailed'),
  Initialised: byInvocation('init', 'PUT', '/sys/init'),
  RootGeneration: byInvocation('generate-root', 'GET', '/sys/generate-root/attempt'),
  OperationToken: { at: 'west', cause: makeOperationToken },
  Undelivered: byAws('Undelivered', 3),
  Lost: byLambda('Lost', 'DeadLetterErrors', ['on-audit-entries']),
}

test('a healthy pair has no alarm in state ALARM', async () => {
  await quietly()
  await minutes(12)
  expect([watched.on('east'), watched.on('west')]).toEqual([[], []])
})

describe('each alarm turns on with its cause and off again:', () => {
  // the promotion comes last, because other rows need the pair as it was
  const inOrder = commonAlarms.toSorted((a, b) => Number(a === 'RoleChanged') - Number(b === 'RoleChanged'))
  test.each(inOrder)('%s', async name => {
    const { at, cause, cure = () => undefined } = scenes[name]
    await quietly()
    expect(isOn(at, name), 'before').toBe(false)
    await cause()
    expect(isOn(at, name), 'it has a cause').toBe(true)
    await cure()
    await quietly()
    if (['Licence', 'Certificate'].includes(name)) set.pass(3 * 60 * MINUTE)
    expect(isOn(at, name), 'the cause is gone').toBe(false)
  })
})

test('a pair of clusters emits exactly the listed metrics, besides the metrics of logins', () => {
  const measured = [...watched.at('east').series(), ...watched.at('west').series()]
    .map(series => JSON.parse(series) as string[])
    .flatMap(([namespace, name = '', ...dimensions]) =>
      namespace === TEST_NAMESPACE && name in metrics ? [[name, ...dimensions].join()] : [],
    )
  expect([...new Set(measured)].sort()).toEqual([
    'CertificateDays',
    'Ec2Throttles',
    'Frontier',
    'HeartbeatAge',
    'IssuerFaults',
    'Lag',
    'LicenceDays',
    'LinkRefusals',
    'NotReady',
    'StsThrottles',
  ])
})
