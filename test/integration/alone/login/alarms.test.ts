import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SavedLogQuery, savedLogQueries } from '../../../../infra/watching/queries.ts'
import { metricNamespace, metrics } from '../../../../shared/watching/metrics.ts'
import { faultRow } from '../../../support/programs/fault-table.ts'
import {
  errorsOf,
  type Launched,
  launch,
  loginAs,
  loginWith,
  type SignOptions,
} from '../../../support/requests/logins.ts'
import type { Reply } from '../../../support/service/api.ts'
import { auditOf } from '../../../support/service/audit.ts'
import { clock } from '../../../support/service/clock.ts'
import { type CloudWatch, cloudWatch } from '../../../support/service/cloud-watch.ts'
import {
  api,
  aws,
  cluster,
  done,
  freshAccount,
  freshMount,
  localCertificate,
  settled,
} from '../../../support/service/cluster.ts'

// Metrics and alarms of real logins, from the log lines that functions print.

const MINUTES_5 = 300

let mount = ''
let account = ''
let instance: Launched
let watching: CloudWatch
let read = 0

beforeAll(async () => {
  watching = await cloudWatch()
  account = freshAccount()
  await aws.putUser({ account, name: 'server' })
  const key = await aws.createAccessKey({ account, user: 'server' })
  ;({ path: mount } = await freshMount())
  const credentials = { access_key: key.accessKeyId, secret_key: key.secretAccessKey, max_retries: 0 }
  await done('POST', `${mount}/config/client`, credentials)
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await aws.putRole({ account, name: 'app' })
  const bound_iam_principal_arn = `arn:aws:iam::${account}:role/app*`
  await done('POST', `${mount}/role/app`, { bound_iam_principal_arn })
  for (const [name, bound_account_id] of [
    ['web', account],
    ['other', '999999999999'],
  ])
    await done('POST', `${mount}/role/${name}`, { auth_type: 'ec2', bound_account_id })
  const profile = await aws.putInstanceProfile({ account, name: 'app', roles: ['app'] })
  instance = await launch({ account, instanceProfileArn: profile.arn })
  lines()
})

afterAll(() => clock.reset())

/** Returns the lines that functions have printed since the last call, and passes them to CloudWatch. */
function lines(): Record<string, unknown>[] {
  const all = readFileSync(`${cluster.directory}/functions.log`, 'utf8').split('\n').filter(Boolean)
  const news = all.slice(read)
  read = all.length
  for (const text of news) watching.event(text, clock.now())
  return news.map(text => JSON.parse(text) as Record<string, unknown>)
}

const ec2 = (more: object = {}) => loginAs(mount, instance, { role: 'web', nonce: 'n', ...more })

/** Returns the log line of a login. */
async function lineOf(login: () => Promise<unknown>): Promise<Record<string, unknown>> {
  lines()
  await login()
  const [line, ...others] = lines().filter(one => one['message'] === 'request')
  expect(others, 'one line for each request').toEqual([])
  return line ?? {}
}

describe('the log line counts a login by type, outcome and reason', () => {
  test.each([
    ['granted', () => ec2(), 'ec2', 'granted', 'none'],
    ['granted to a principal', () => withSession(), 'iam', 'granted', 'none'],
    ['rejected by its role', () => ec2({ role: 'other' }), 'ec2', 'refused', 'role'],
    ['with an invalid proof', () => ec2({ pkcs7: 'AAAA' }), 'ec2', 'refused', 'proof'],
    ['without a proof', () => api('POST', `${mount}/login`, {}, { token: '' }), 'none', 'refused', 'proof'],
    ['while AWS fails', struck, 'ec2', 'failed', 'aws'],
  ])('login %s', async (_, login, type, outcome, reason) => {
    const line = await lineOf(login)
    expect(line).toMatchObject({
      type,
      outcome,
      reason,
      mount: mount.replace('/auth/', ''),
      Logins: 1,
      LoginLatency: line['milliseconds'],
    })
    const dimensions = [`outcome=${outcome}`, `reason=${reason}`, `type=${type}`]
    const series = [metricNamespace('local'), 'Logins', ...dimensions]
    expect(watching.series()).toContain(JSON.stringify(series))
  })

  test("a login at a missing mount is counted without the mount's name, which the client chose", async () => {
    const line = await lineOf(() => api('POST', '/auth/hvs.S3CRET/login', {}, { token: '' }))
    expect(line).toMatchObject({ type: 'none', outcome: 'refused', Logins: 1 })
    expect(JSON.stringify(line)).not.toContain('S3CRET')
  })

  test('other requests are not counted as logins', async () => {
    expect(await lineOf(() => done('GET', `${mount}/role/web`))).not.toHaveProperty('Logins')
  })
})

async function withSession(signing: SignOptions = {}) {
  const session = await aws.session({ account, role: 'app', session: 'worker' })
  return loginWith(mount, session, { role: 'app' }, signing)
}

async function struck() {
  await aws.fault({ service: 'ec2', account, kind: 'error', times: 1 })
  return ec2()
}

describe('a fault produces the error text of its row in docs/do/troubleshooting.md:', () => {
  const refused = { kind: 'error', status: 403, code: 'UnauthorizedOperation', times: 1 } as const
  const onEc2 = (fault: object) => async () => {
    await aws.fault({ service: 'ec2', account, kind: 'throttle', times: 1, ...fault })
    return ec2()
  }
  test.each<[string, () => Promise<Reply>]>([
    ['clock of a workload wrong', () => withSession({ at: Date.now() - 3_600_000 })],
    ['EC2 throttles', onEc2({})],
    ['STS throttles', throttled],
    ['EC2 or IAM fails', onEc2({ kind: 'error' })],
    ['permission missing in the function’s role', onEc2(refused)],
    ['no STS role for an account', elsewhere],
  ])('%s', async (fault, inject) => {
    const { text } = faultRow(fault)
    expect(text).not.toBe('')
    expect(errorsOf(await inject())).toContain(text)
  })
})

async function throttled() {
  await aws.fault({ service: 'sts', action: 'GetCallerIdentity', account, kind: 'throttle', times: 1 })
  return withSession()
}

/** Logs in an instance of an account without an STS role. */
async function elsewhere() {
  const other = freshAccount()
  await done('POST', `${mount}/role/far`, { auth_type: 'ec2', bound_account_id: other })
  return loginAs(mount, await launch({ account: other }), { role: 'far' })
}

/** Returns the field names that a query reads, without those that it defines. */
function namesIn({ query }: SavedLogQuery): string[] {
  const text = query.join(' | ').replace(/"[^"]*"|\/[^ ]*\/|bin\(\dm\)/g, ' ')
  const given = [...text.matchAll(/ as (\w+)/g)].map(([, name = '']) => name)
  const words = text.match(/@?[A-Za-z][\w]*(?:\.\w+)*(?!\w*\()/g) ?? []
  const grammar = [
    'fields',
    'filter',
    'stats',
    'sort',
    'limit',
    'by',
    'as',
    'and',
    'or',
    'like',
    'desc',
    'asc',
  ]
  return [...new Set(words)].filter(word => ![...grammar, ...given].includes(word) && !word.startsWith('@'))
}

const has = (event: unknown, name: string): boolean =>
  name
    .split('.')
    .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], event) !==
  undefined

test.each(Object.entries<SavedLogQuery>(savedLogQueries))(
  'the saved query %s reads only fields that log lines have',
  (_, saved) => {
    const printed = readFileSync(`${cluster.directory}/functions.log`, 'utf8').split('\n').filter(Boolean)
    const events: unknown[] =
      saved.group === 'audit' ? auditOf(`${mount}/login`) : printed.map(text => JSON.parse(text))
    const unknown = namesIn(saved).filter(
      name => !(name in metrics) && !events.some(event => has(event, name)),
    )
    expect(unknown).toEqual([])
  },
)

test('the throttling alarm is raised while AWS throttles logins, and ends afterwards', async () => {
  const on = () => {
    lines()
    return watching.isOn('ProviderThrottled', clock.now())
  }
  for (let period = 0; period < 2; period++) {
    expect(on()).toBe(false)
    clock.advance(MINUTES_5)
    await aws.fault({ service: 'sts', action: 'GetCallerIdentity', account, kind: 'throttle', times: 11 })
    for (let logins = 0; logins < 11; logins++) expect((await withSession()).status).toBe(503)
  }
  expect(on()).toBe(true)
  clock.advance(4 * MINUTES_5)
  expect(on()).toBe(false)
})

describe('throttled and failed calls to AWS are counted even when a retry succeeds:', () => {
  beforeAll(async () => {
    await done('POST', `${mount}/config/client`, { max_retries: 2 })
    lines()
  })

  test('EC2', async () => {
    await aws.fault({ service: 'ec2', account, kind: 'throttle', times: 1 })
    const line = await lineOf(() => ec2())
    expect(line).toMatchObject({ outcome: 'granted', Ec2Throttles: 1, calls: { 'ec2 throttled': 1 } })
  })

  test('IAM, where the SDK retries', async () => {
    await done('POST', `${mount}/role/profile`, {
      auth_type: 'ec2',
      bound_iam_role_arn: `arn:aws:iam::${account}:role/app`,
    })
    await aws.fault({ service: 'iam', account, kind: 'throttle', times: 2 })
    const line = await lineOf(() => ec2({ role: 'profile' }))
    expect(line).toMatchObject({ outcome: 'granted', IamThrottles: 2 })
  })

  test('STS', async () => {
    await aws.fault({ service: 'sts', action: 'GetCallerIdentity', account, kind: 'error', times: 1 })
    expect(await lineOf(() => withSession())).toMatchObject({ outcome: 'granted', StsFailures: 1 })
  })
})

test('a tidy run that removed something logs one line with the count', async () => {
  const list = 'identity-accesslist'
  await done('POST', `${mount}/config/tidy/${list}`, { safety_buffer: 1, disable_periodic_tidy: true })
  await settled()
  expect((await ec2()).status).toBe(200)
  clock.advance(100 * 24 * 3600)
  const tidied = async () => {
    lines()
    expect((await api('POST', `${mount}/tidy/${list}`, { safety_buffer: 1 })).status).toBe(202)
    await settled()
    return lines().filter(one => one['message'] === 'tidied')
  }
  expect(await tidied()).toMatchObject([{ list, TidyRemoved: 1 }])
  expect(await tidied()).toEqual([])
})
