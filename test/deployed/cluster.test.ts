import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLocalLicence } from '../../infra/local/lambda/licence.ts'
import { requestHost } from '../../infra/local/pair/dr-client.ts'
import { createDocumentAuthority } from '../../infra/local/provider/documents/authority.ts'
import { signInstanceDocument } from '../../infra/local/provider/documents/document.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import {
  type Assembly,
  bootstrap,
  countDifferentStacks,
  destroyAll,
  readTemplates,
  synthesiseAssembly,
} from './cdk.ts'
import { prepareDeployment } from './cluster.ts'
import { EMULATED } from './emulator.ts'
import { expectOnlyAdaptations } from './expectations.ts'

// Deploys a cluster with the CDK's command line into an emulated AWS account, and uses the cluster through its API, its
// functions, its schedules and its state machines. Each test continues from the state of the previous test.

const STAGE = 'dev'
const DR = 'sys/replication/dr'
const { LICENSE: license, LICENSE_PUBLIC_KEY: licensePublicKey } = createLocalLicence(STAGE, Date.now())
const settings = { stage: STAGE, license, licensePublicKey }

let assembly: Assembly
let shares: string[]

const { emulator, account, cluster, key } = await prepareDeployment(STAGE)
beforeAll(async () => {
  assembly = await synthesiseAssembly(emulator, STAGE, settings)
  await bootstrap(emulator, assembly)
  await cluster.deploy(assembly)
})
afterAll(() => emulator.stop())

const workflow = (name: string): Promise<string[]> => account.endsOfWorkflow(`cloud-auth-${STAGE}-${name}`)

/** Expects that an iam login gets a token. @returns the `auth` object of the answer */
async function expectIamLogin() {
  const login = await cluster.iamLogin('dev', key)
  expect(login.status, login.text).toBe(200)
  return login.body.auth
}

describe('the deployment', () => {
  test('differs from the released templates only in resources that a row of the adaptations names', () => {
    expectOnlyAdaptations(readTemplates(assembly.released), readTemplates(assembly.tested))
  })

  test('equals its templates', async () => expect(await countDifferentStacks(emulator, assembly)).toBe(0))
})

describe('a new cluster', () => {
  test('is initialised by an invocation of the function `InitFunction`', async () => {
    expect(await cluster.health()).toBe(501)
    shares = await cluster.initialise()
    expect(shares).toHaveLength(5)
    expect(await cluster.health()).toBe(200)
  })

  test('has the auth method at cloud/, lists roles, and reads its root token', async () => {
    await cluster.createIamRole('dev')
    expect((await cluster.done('GET', 'auth/cloud/roles?list=true')).data).toEqual({ keys: ['dev'] })
    expect((await cluster.done('GET', 'auth/cloud/role/dev')).data).toMatchObject({ token_ttl: 3600 })
    expect((await cluster.done('GET', 'auth/token/lookup-self')).data.policies).toEqual(['root'])
  })

  test('refuses a role tag that it did not make', async () => {
    const tag = Buffer.from('v1:none').toString('base64')
    const refused = await cluster.api('POST', `auth/cloud/roletag-denylist/${tag}`)
    expect([refused.status, refused.body.errors]).toEqual([400, [expect.stringContaining('role tag')]])
  })
})

describe('iam logins', () => {
  test("give a user's token, which renews and revokes itself", async () => {
    const { metadata, client_token: token } = await expectIamLogin()
    expect(metadata).toMatchObject({ account_id: EMULATED.account, auth_type: 'iam' })
    await cluster.done('GET', 'auth/token/lookup-self', undefined, token)
    await cluster.done('POST', 'auth/token/renew-self', {}, token)
    await cluster.done('POST', 'auth/token/revoke-self', undefined, token)
    expect((await cluster.api('GET', 'auth/token/lookup-self', undefined, token)).status).toBe(403)
  })

  test('fail with another body', async () => {
    const body = Buffer.from('Action=GetCallerIdentity&Version=2011-06-15&X=1').toString('base64')
    expect((await cluster.iamLogin('dev', key, { iam_request_body: body })).status).toBe(400)
  })
})

describe('ec2 logins', () => {
  let pkcs7: string
  let instanceId: string
  const login = (nonce: string) => cluster.api('POST', 'auth/cloud/login', { role: 'box', pkcs7, nonce }, '')

  beforeAll(async () => {
    const instance = await account.runInstance()
    instanceId = instance.InstanceId ?? ''
    const authority = await createDocumentAuthority()
    const document = JSON.stringify({
      accountId: EMULATED.account,
      architecture: 'x86_64',
      availabilityZone: instance.Placement?.AvailabilityZone,
      imageId: instance.ImageId,
      instanceId,
      instanceType: instance.InstanceType,
      pendingTime: new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, ''),
      privateIp: instance.PrivateIpAddress,
      region: EMULATED.region,
      version: '2017-09-30',
    })
    pkcs7 = signInstanceDocument(document, authority, Date.now()).rsa2048.replaceAll('\n', '')
    const aws_public_cert = Buffer.from(authority.rsa2048.certificate).toString('base64')
    await cluster.done('POST', 'auth/cloud/config/certificate/test', { aws_public_cert, type: 'pkcs7' })
    await cluster.done('POST', 'auth/cloud/role/box', { auth_type: 'ec2', bound_ami_id: [instance.ImageId] })
  })

  test('give a token to an instance that the account has, and refuse another nonce', async () => {
    const first = await login('a-nonce-of-the-instance')
    expect(first.status, first.text).toBe(200)
    expect(first.body.auth.metadata).toMatchObject({ role: 'box', auth_type: 'ec2' })
    expect((await login('a-nonce-of-the-instance')).status).toBe(200)
    expect((await login('another-nonce')).body.errors).toEqual(['nonce does not match'])
    const { data } = await cluster.done('GET', 'auth/cloud/identity-accesslist?list=true')
    expect(data.keys).toEqual([instanceId])
  })

  test('are explained: the runtime verifies the algorithms of the documents', async () => {
    const { data } = await cluster.done('POST', 'auth/cloud/role/box/explain', {})
    expect(data.signatures).toContainEqual(
      expect.objectContaining({ documents: 'rsa2048', accepted: true, works_on_this_runtime: true }),
    )
  })
})

describe('background work', () => {
  test('a tidy starts by a request, and by the event of its schedule', async () => {
    expect((await cluster.api('POST', 'auth/cloud/tidy/identity-accesslist', {})).status).toBe(202)
    const { fault, result } = await account.invoke(await account.functionNameOf('on-tidy-schedule'), {
      version: '0',
      source: 'aws.events',
      'detail-type': 'Scheduled Event',
      detail: {},
    })
    expect(fault, JSON.stringify(result)).toBeUndefined()
  })

  test('the log subscription carries audit entries of logins to the audit log', async () => {
    const group = (await account.listLogGroups()).find(name => /-api\/Audit(?!Carrier)/.test(name)) ?? ''
    await eventually(async () => {
      const entries = (await account.readLog(group)).map(line => JSON.parse(line))
      const logins = entries.filter(
        one => one.audit === 'response' && one.request.path === 'auth/cloud/login',
      )
      return logins.some(one => one.response?.auth) ? true : undefined
    })
  })
})

describe('replication', () => {
  test('`primary/enable` begins a journal, and logins continue', async () => {
    await cluster.done('POST', `${DR}/primary/enable`, {})
    await cluster.untilStatus('a primary', one => one.mode === 'primary' && one.state === 'running')
    await expectIamLogin()
  })

  test.each(['reindex', 'merkle-check'])('the state machine of %s succeeds', async name => {
    await requestHost(cluster.drHost(), `sys/replication/${name}`, {})
    expect(await workflow(name)).toEqual(['SUCCEEDED'])
  })

  test('`demote` makes the cluster a secondary', async () => {
    await cluster.done('POST', `${DR}/primary/demote`, {})
    await cluster.untilStatus('a secondary', one => one.mode === 'secondary')
    expect(await workflow('demotion')).toEqual(['SUCCEEDED'])
    expect(await cluster.health()).toBe(472)
  })

  test('three shares and an attempt by `CeremonyFunction` give an operation token, which promotes the cluster', async () => {
    const token = await cluster.generateOperationToken(shares.slice(0, 3))
    const promotion = { dr_operation_token: token, force: true }
    await cluster.done('POST', `${DR}/secondary/promote`, promotion, '')
    await cluster.untilStatus('the primary', one => one.mode === 'primary' && one.state === 'running')
    for (const name of ['promotion', 'operation-token-attempt'])
      expect(await workflow(name)).toEqual(['SUCCEEDED'])
    await expectIamLogin()
  })
})

describe('the removal', () => {
  test('with `deletionProtection` keeps the stack `data` and the logs, and a new deployment serves the same data', async () => {
    const tables = await account.listTables()
    const kept = (await account.listLogGroups()).filter(name => /-(api|workers)\//.test(name))
    const { status, output } = await destroyAll(emulator, assembly)
    expect(status, output).not.toBe(0)
    expect(output).toContain('TerminationProtection is enabled')
    expect(await account.listFunctions()).toEqual([])
    expect(await account.listTables()).toEqual(tables)
    expect(kept.length).toBeGreaterThan(1)
    expect(await account.listLogGroups()).toEqual(expect.arrayContaining(kept))
    await cluster.deploy(assembly)
    expect(await cluster.health()).toBe(200)
    await expectIamLogin()
  })
})
