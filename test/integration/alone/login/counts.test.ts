import { beforeAll, describe, expect, test } from 'vitest'
import {
  callWatch,
  HOME,
  launch,
  loginAs,
  pkcs7Of,
  satellite,
  signedBy,
} from '../../../support/requests/logins.ts'
import {
  api,
  aws,
  done,
  fresh,
  freshInstanceId,
  freshMount,
  localCertificate,
  storage,
} from '../../../support/service/cluster.ts'
import document from '../../../vectors/identity-documents/us-west-1-2021.json' with { type: 'json' }

/** Counts the calls of some work to the tables and to AWS, without calls to KMS. */
async function costOf(work: () => Promise<unknown>): Promise<{ tables: string[]; aws: string[] }> {
  const watch = callWatch()
  await watch()
  await storage.reset()
  await work()
  const calls = await watch()
  return {
    tables: (await storage.calls()).map(call => call.operation),
    aws: calls.filter(call => call.service !== 'kms').map(call => `${call.service}:${call.action}`),
  }
}

const READ = 'BatchGetItem'
const COMMIT = 'TransactWriteItems'
const DESCRIBE = 'ec2:DescribeInstances'

describe('a warm ec2 login needs', () => {
  let mount = ''
  const login = (role = 'web') =>
    done('POST', `${mount}/login`, { role, pkcs7: document.rsa2048, nonce: 'the same' })

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    const { account, region, instanceId, imageId } = document
    await aws.putRole({ account, name: 'app' })
    const profile = await aws.putInstanceProfile({ account, name: 'app', roles: ['app'] })
    await aws.putInstance({ account, region, instanceId, imageId, instanceProfileArn: profile.arn })
    const { arn } = await aws.putRole({ account, name: 'cloud-auth-reader' })
    await done('POST', `${mount}/config/sts/${account}`, { sts_role: arn })
    const shared = { auth_type: 'ec2', bound_account_id: account }
    await done('POST', `${mount}/role/web`, shared)
    await done('POST', `${mount}/role/profile`, {
      ...shared,
      bound_iam_role_arn: `arn:aws:iam::${account}:role/app`,
    })
    await login()
    await login('profile')
  })

  test('one read before DescribeInstances, one read after DescribeInstances, and one commit', async () => {
    expect(await costOf(login)).toEqual({ tables: [READ, READ, COMMIT], aws: [DESCRIBE] })
  })

  test("one more call to IAM when the role binds the instance's IAM role", async () => {
    expect(await costOf(() => login('profile'))).toEqual({
      tables: [READ, READ, COMMIT],
      aws: [DESCRIBE, 'iam:GetInstanceProfile'],
    })
  })

  test('no extra read when a registered certificate verifies the document', async () => {
    const certificate = { cloud_public_cert: await localCertificate() }
    await done('POST', `${mount}/config/certificate/local`, certificate)
    await done('POST', `${mount}/role/home`, { auth_type: 'ec2', bound_account_id: HOME.account })
    const instance = await launch()
    const again = () => loginAs(mount, instance, { role: 'home', nonce: 'n' })
    // the first login lists all certificates of the mount
    expect((await costOf(again)).tables).toContain('Query')
    expect(await costOf(again)).toEqual({ tables: [READ, READ, COMMIT], aws: [DESCRIBE] })
  })

  test('one read and no call to AWS when the signature is wrong', async () => {
    const bytes = Buffer.from(document.rsa2048, 'base64')
    bytes[bytes.indexOf('x86_64')] = 0x79
    const pkcs7 = bytes.toString('base64')
    const cost = await costOf(() => api('POST', `${mount}/login`, { role: 'web', pkcs7 }, { token: '' }))
    expect(cost).toEqual({ tables: [READ], aws: [] })
  })

  test.each([
    ['from a region', { bound_region: 'eu-west-1' }],
    ['from an account', { bound_account_id: '999999999999' }],
  ])('no call to AWS when the document is %s that the role does not allow', async (_name, bound) => {
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, { auth_type: 'ec2', ...bound })
    const cost = await costOf(() =>
      api('POST', `${mount}/login`, { role, pkcs7: document.rsa2048, nonce: 'the same' }),
    )
    expect([cost.aws, cost.tables.includes(COMMIT)]).toEqual([[], false])
  })

  test('one read and no call to AWS when the nonce is wrong', async () => {
    const body = { role: 'web', pkcs7: document.rsa2048, nonce: 'another' }
    expect(await costOf(() => api('POST', `${mount}/login`, body))).toEqual({ tables: [READ], aws: [] })
  })

  test('one AssumeRole for a satellite account, and another only when its STS role changes', async () => {
    const account = await satellite(mount)
    const instance = await launch({ account })
    await done('POST', `${mount}/role/other`, { auth_type: 'ec2', bound_account_id: account })
    const again = () => loginAs(mount, instance, { role: 'other', nonce: 'n' })
    expect((await costOf(again)).aws).toEqual(['sts:AssumeRole', DESCRIBE])
    expect((await costOf(again)).aws).toEqual([DESCRIBE])
    const { arn } = await aws.putRole({ account, name: 'cloud-auth-second' })
    await done('POST', `${mount}/config/sts/${account}`, { sts_role: arn })
    expect((await costOf(again)).aws).toEqual(['sts:AssumeRole', DESCRIBE])
  })

  test('three DescribeInstances calls for a missing instance with a young document, one call with an old document', async () => {
    const instance = await launch({ pendingTime: new Date().toISOString() })
    const young = { role: 'home', pkcs7: await pkcs7Of(instance) }
    const old = await launch({ instanceId: freshInstanceId(), pendingTime: '2020-01-01T00:00:00Z' })
    const settled = { role: 'home', pkcs7: await pkcs7Of(old) }
    await aws.deleteInstance(instance)
    await aws.deleteInstance(old)
    const login = (body: object) => () => api('POST', `${mount}/login`, body)
    expect((await costOf(login(young))).aws).toEqual([DESCRIBE, DESCRIBE, DESCRIBE])
    expect((await costOf(login(settled))).aws).toEqual([DESCRIBE])
  })
})

describe('a warm iam login needs', () => {
  let mount = ''
  let key = { accessKeyId: '', secretAccessKey: '' }
  const login = (role: string) => done('POST', `${mount}/login`, { role, ...signedBy(key) })

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    const account = await satellite(mount)
    const { arn } = await aws.putUser({ account, name: 'bob', path: '/team/' })
    key = await aws.createAccessKey({ account, user: 'bob' })
    const shared = { bound_iam_principal_arn: arn }
    await done('POST', `${mount}/role/service`, shared)
    await done('POST', `${mount}/role/batch`, { ...shared, token_type: 'batch' })
    await done('POST', `${mount}/role/wild`, { bound_iam_principal_arn: arn.replace(/bob$/, '*') })
    for (const role of ['service', 'batch']) await login(role)
  })

  test('one read before GetCallerIdentity, one read after GetCallerIdentity, and one write', async () => {
    const cost = await costOf(() => login('service'))
    expect(cost).toEqual({ tables: [READ, READ, 'PutItem'], aws: ['sts:GetCallerIdentity'] })
  })

  test('no write for a batch token', async () => {
    expect(await costOf(() => login('batch'))).toEqual({
      tables: [READ, READ],
      aws: ['sts:GetCallerIdentity'],
    })
  })

  test('one look-up of the principal for a wildcard role, and no look-up at the next login', async () => {
    const first = await costOf(() => login('wild'))
    expect(first.aws).toEqual(['sts:GetCallerIdentity', 'sts:AssumeRole', 'iam:GetUser'])
    expect((await costOf(() => login('wild'))).aws).toEqual(['sts:GetCallerIdentity'])
  })

  test('one read and no call to AWS when the signed request is malformed', async () => {
    const fields = signedBy(key, { body: 'Action=GetSessionToken&Version=2011-06-15' })
    const cost = await costOf(() => api('POST', `${mount}/login`, { role: 'service', ...fields }))
    expect(cost).toEqual({ tables: [READ], aws: [] })
  })
})

test('a login without a valid proof gets the same answer at the same cost for existing and missing roles (CVE-2025-54999, CVE-2025-6011, HCSEC-2025-15)', async () => {
  const { path } = await freshMount()
  await done('POST', `${path}/role/web`, { auth_type: 'ec2', bound_account_id: HOME.account })
  await done('POST', `${path}/role/app`, { bound_iam_principal_arn: 'arn:aws:iam::111122223333:role/app*' })
  const key = { accessKeyId: 'AKIA0000000000000000', secretAccessKey: 'x' }
  const forged = document.rsa2048.replace(/^(.{200})./, (_, kept) => `${kept}A`)
  for (const proof of [{ pkcs7: forged }, { pkcs7: 'x' }, signedBy(key), {}]) {
    const login = (role: string) => api('POST', `${path}/login`, { ...proof, role }, { token: '' })
    const answers: string[] = []
    const costs: string[] = []
    for (const role of ['web', 'app', 'nobody', '']) {
      // warms the caches
      const { status, text } = await login(role)
      answers.push(`${status} ${text}`)
      costs.push(JSON.stringify(await costOf(() => login(role))))
    }
    expect(new Set(answers)).toEqual(new Set([expect.stringMatching(/^400 /)]))
    expect(new Set(costs).size, costs.join()).toBe(1)
  }
})

describe('requests that must fail cost', () => {
  const iam = signedBy({ accessKeyId: 'AKIA0000000000000000', secretAccessKey: 'x' })
  test.each<[string, string, string, unknown]>([
    ['a request without a token', 'GET', '/auth/cloud/role/x', undefined],
    ['a request without a token to a missing mount', 'GET', '/auth/no/role/x', undefined],
    ['a request without a token to an unknown path', 'GET', '/nowhere', undefined],
    ['a login without proof', 'POST', '/auth/cloud/login', {}],
    ['a login with malformed JSON', 'POST', '/auth/cloud/login', '{'],
    ['an iam login at a missing mount', 'POST', '/auth/no/login', iam],
    ['an ec2 login at a missing mount', 'POST', '/auth/no/login', { pkcs7: document.rsa2048 }],
  ])('one read and no call to AWS: %s', async (_, method, path, body) => {
    await api('POST', '/auth/cloud/login', {}, { token: '' })
    const cost = await costOf(() => api(method, path, body, { token: '' }))
    expect(cost).toEqual({ tables: [READ], aws: [] })
  })
})
