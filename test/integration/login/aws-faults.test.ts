import { describe, expect, test } from 'vitest'
import {
  errorsOf,
  launch,
  loginAs,
  loginWith,
  NOT_ACCEPTED,
  placeOf,
  satellite,
} from '../../support/requests/logins.ts'
import type { Reply } from '../../support/service/api.ts'
import { auditOf } from '../../support/service/audit.ts'
import { api, aws, done, freshAccount, freshMount, localCertificate } from '../../support/service/cluster.ts'
import { closedPort, rawServer, type WhenDone } from '../../support/service/server.ts'

type Fault = Omit<Parameters<typeof aws.fault>[0], 'account' | 'service'>

/**
 * Creates a mount with a new AWS account, so that faults affect this mount only, and an instance with
 * a role there.
 */
async function ownWorld(client: object = {}) {
  const account = freshAccount()
  await aws.putUser({ account, name: 'server' })
  const key = await aws.createAccessKey({ account, user: 'server' })
  const { path: mount } = await freshMount()
  const credentials = { access_key: key.accessKeyId, secret_key: key.secretAccessKey }
  await done('POST', `${mount}/config/client`, { ...credentials, ...client })
  await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await aws.putRole({ account, name: 'app' })
  const profile = await aws.putInstanceProfile({ account, name: 'app', roles: ['app'] })
  const bound_iam_role_arn = `arn:aws:iam::${account}:role/app`
  await done('POST', `${mount}/role/web`, { auth_type: 'ec2', bound_iam_role_arn })
  await done('POST', `${mount}/role/app`, { bound_iam_principal_arn: `arn:aws:iam::${account}:role/app*` })
  const instance = await launch({ account, instanceProfileArn: profile.arn })
  const session = await aws.session({ account, role: 'app', session: 'worker' })
  return { account, mount, instance, session, key }
}
type Unreachable = [string, (end: WhenDone) => Promise<{ url: string }>, number, string]
type World = Awaited<ReturnType<typeof ownWorld>>

const ec2 = ({ mount, instance }: World) => loginAs(mount, instance, { role: 'web', nonce: 'n' })
const iam = ({ mount, session }: World) => loginWith(mount, session, { role: 'app' })

/** Expects an error that names the failed service without internal details, and no stored entry. */
async function expectFault(world: World, reply: Reply, status: number, text: string): Promise<void> {
  const told = auditOf(`${world.mount}/login`).at(-1)
  expect(told, 'the audit log has the cause').toMatchObject({
    reason: { why: expect.any(String) },
  })
  expect([reply.status, errorsOf(reply)]).toEqual([status, text])
  expect(reply.headers['retry-after']).toBe(status === 503 ? '1' : undefined)
  expect(reply.text).not.toMatch(/arn:|AKIA|ASIA|127\.0\.0\.1|struck|https?:/)
  const entry = await api('GET', `${world.mount}/identity-accesslist/${world.instance.instanceId}`)
  expect(entry.status).toBe(404)
}

const server = { kind: 'error', times: 9 } as const
const refusal = { kind: 'error', times: 9, status: 403, code: 'UnauthorizedOperation' } as const

const rows: [string, string, Fault, number, string][] = [
  ['ec2', 'DescribeInstances', { kind: 'throttle', times: 9 }, 503, 'EC2 is throttling requests'],
  ['ec2', 'DescribeInstances', server, 502, 'EC2 could not answer'],
  ['ec2', 'DescribeInstances', refusal, 502, 'EC2 refused the server’s own request: UnauthorizedOperation'],
  ['ec2', 'DescribeInstances', { kind: 'reset', times: 9 }, 502, 'EC2 could not answer'],
  [
    'ec2',
    'DescribeInstances',
    { kind: 'answer', times: 9, answer: { status: 200, contentType: 'text/html', body: '<p>welcome' } },
    502,
    'EC2 could not answer',
  ],
  ['iam', 'GetInstanceProfile', { kind: 'throttle', times: 9 }, 503, 'IAM is throttling requests'],
  ['iam', 'GetInstanceProfile', server, 502, 'IAM could not answer'],
  ['iam', 'GetInstanceProfile', { kind: 'reset', times: 9 }, 502, 'IAM could not answer'],
  ['sts', 'GetCallerIdentity', { kind: 'throttle', times: 9 }, 503, 'STS is throttling requests'],
  ['sts', 'GetCallerIdentity', server, 502, 'STS could not answer'],
]

describe.concurrent('an ec2 login while AWS fails: CVE-2021-3024', () => {
  test.each(rows)('%s:%s %j: the answer is %i %s', async (service, action, fault, status, text) => {
    const world = await ownWorld({ max_retries: 0 })
    await aws.fault({ service: service as 'ec2', action, account: world.account, ...fault })
    await expectFault(world, await ec2(world), status, text)
  })

  test.each([
    [-1, 2, 200],
    [-1, 3, 503],
    [0, 1, 503],
    [1, 1, 200],
    [1, 2, 503],
    [3, 3, 200],
  ])('max_retries %i and %i throttled calls: the answer is %i', async (max_retries, times, status) => {
    const world = await ownWorld({ max_retries })
    await aws.fault({ service: 'ec2', account: world.account, kind: 'throttle', times })
    expect((await ec2(world)).status).toBe(status)
    const { calls } = await aws.calls()
    const described = calls.filter(one => one.service === 'ec2' && one.account === world.account)
    expect(described).toHaveLength(status === 200 ? times + 1 : times)
  })

  const unreachable: Unreachable[] = [
    ['hangs', end => rawServer(end, () => undefined), 503, 'EC2 did not answer in time'],
    ['hangs up', end => rawServer(end, socket => socket.destroy()), 502, 'EC2 could not answer'],
    [
      'talks nonsense',
      end => rawServer(end, socket => socket.end('nonsense\r\n\r\n')),
      502,
      'EC2 could not answer',
    ],
    ['is not there', async () => ({ url: await closedPort() }), 502, 'EC2 could not answer'],
    [
      'stops in the middle of its answer',
      end => rawServer(end, socket => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n<')),
      503,
      'EC2 did not answer in time',
    ],
  ]
  test.for(unreachable)('gets an error when EC2 %s', async ([, start, status, text], { onTestFinished }) => {
    const { url } = await start(onTestFinished)
    const world = await ownWorld({ endpoint: url, max_retries: 0 })
    await expectFault(world, await ec2(world), status, text)
  })

  test('retries AssumeRole as often as max_retries allows, then gets an error that names STS', async () => {
    const world = await ownWorld({ max_retries: 1 })
    const account = await satellite(world.mount)
    const instance = await launch({ account })
    await done('POST', `${world.mount}/role/far`, { auth_type: 'ec2', bound_account_id: account })
    const login = () => loginAs(world.mount, instance, { role: 'far' })
    const assumed = async () =>
      (await aws.calls()).calls.filter(one => one.action === 'AssumeRole' && one.body.includes(account))
        .length
    await aws.fault({ service: 'sts', account: world.account, ...server, times: 2 })
    await expectFault(world, await login(), 502, 'STS could not answer')
    expect(await assumed()).toBe(2)
    expect((await login()).status).toBe(200)
  })

  test('succeeds after the fault', async () => {
    const world = await ownWorld({ max_retries: 0 })
    await aws.fault({ service: 'ec2', account: world.account, kind: 'error' })
    expect((await ec2(world)).status).toBe(502)
    expect((await ec2(world)).status).toBe(200)
  })

  test('gets 400 when the instance does not exist', async () => {
    const world = await ownWorld()
    const { rsa2048 } = await aws.documents(placeOf(world.instance))
    await aws.deleteInstance(world.instance)
    const reply = await api('POST', `${world.mount}/login`, { role: 'web', pkcs7: rsa2048 })
    expect(reply.status).toBe(400)
  })
})

const iamRows: [string, string, Fault, number, string][] = [
  ['iam', 'GetRole', { kind: 'throttle', times: 9 }, 503, 'IAM is throttling requests'],
  ['iam', 'GetRole', server, 502, 'IAM could not answer'],
  [
    'iam',
    'GetRole',
    { ...refusal, code: 'AccessDenied' },
    502,
    'IAM refused the server’s own request: AccessDenied',
  ],
  ['iam', 'GetRole', { kind: 'reset', times: 9 }, 502, 'IAM could not answer'],
  ['sts', 'GetCallerIdentity', { kind: 'throttle', times: 9 }, 503, 'STS is throttling requests'],
  ['sts', 'GetCallerIdentity', server, 502, 'STS could not answer'],
  ['sts', 'GetCallerIdentity', { kind: 'reset', times: 9 }, 502, 'STS could not be reached'],
  ['sts', 'GetCallerIdentity', { ...refusal, code: 'ExpiredToken' }, 400, NOT_ACCEPTED],
  ['sts', 'GetCallerIdentity', { ...refusal, code: 'arn:secret' }, 400, NOT_ACCEPTED],
  [
    'sts',
    'GetCallerIdentity',
    { ...refusal, status: 400, code: 'Throttling' },
    503,
    'STS is throttling requests',
  ],
  ['sts', 'GetCallerIdentity', { ...refusal, status: 501 }, 502, 'STS could not answer'],
]

describe.concurrent('an iam login while AWS fails: CVE-2021-3024', () => {
  test.each(iamRows)('%s:%s %j: the answer is %i %s', async (service, action, fault, status, text) => {
    const world = await ownWorld({ max_retries: 0 })
    await aws.fault({ service: service as 'iam', action, account: world.account, ...fault })
    await expectFault(world, await iam(world), status, text)
  })

  test.each([
    [-1, 'error', 2, 200],
    [-1, 'error', 3, 502],
    [0, 'error', 1, 502],
    [0, 'reset', 2, 502], // the first reset may hit a kept connection, which is replaced without a retry
    [1, 'reset', 1, 200],
    [2, 'throttle', 2, 200],
  ] as const)(
    'max_retries %i and %s %i times: the answer is %i',
    async (max_retries, kind, times, status) => {
      const world = await ownWorld({ max_retries })
      await aws.fault({ service: 'sts', account: world.account, kind, times })
      expect((await iam(world)).status).toBe(status)
    },
  )

  test('does not repeat a request that STS rejected', async () => {
    const world = await ownWorld()
    await aws.fault({ service: 'sts', account: world.account, ...refusal })
    expect((await iam(world)).status).toBe(400)
    const { calls } = await aws.calls()
    expect(calls.filter(one => one.service === 'sts' && one.account === world.account)).toHaveLength(1)
  })

  const unreachable: Unreachable[] = [
    ['hangs', end => rawServer(end, () => undefined), 503, 'STS did not answer in time'],
    [
      'stops in the middle of its answer',
      end =>
        rawServer(end, socket =>
          socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: 99\r\n\r\n<'),
        ),
      503,
      'STS did not answer in time',
    ],
    [
      'closes the connection',
      end => rawServer(end, socket => socket.destroy()),
      502,
      'STS could not be reached',
    ],
    ['is not reachable', async () => ({ url: await closedPort() }), 502, 'STS could not be reached'],
  ]
  test.for(unreachable)('gets an error when STS %s', async ([, start, status, text], { onTestFinished }) => {
    const { url } = await start(onTestFinished)
    const world = await ownWorld({ sts_endpoint: url, max_retries: 0 })
    await expectFault(world, await iam(world), status, text)
  })
})
