import '../../../support/service/over-connections.ts'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createIamAccessKeys } from '../../../../shared/adapters/aws/access-keys.ts'
import { createStsCallerIdentity } from '../../../../shared/adapters/aws/caller-identity.ts'
import type { LambdaEnvironment } from '../../../../shared/adapters/aws/environment.ts'
import { createEc2Instances } from '../../../../shared/adapters/aws/instances.ts'
import { createLazyKms } from '../../../../shared/adapters/aws/kms.ts'
import { createIamPrincipals } from '../../../../shared/adapters/aws/principals.ts'
import { createAwsProvider } from '../../../../shared/adapters/aws/provider.ts'
import { createCallMeter } from '../../../../shared/adapters/aws/system.ts'
import type { AwsTarget, StsRequest } from '../../../../shared/ports.ts'
import { createItem, removeItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import {
  callWatch,
  launch,
  loginAs,
  loginWith,
  signCallerIdentity,
} from '../../../support/requests/logins.ts'
import { isServed, rotate, rotating } from '../../../support/requests/rotation.ts'
import {
  aws,
  cluster,
  done,
  fresh,
  freshAccount,
  freshMount,
  localCertificate,
  storage,
} from '../../../support/service/cluster.ts'
import { tableStore } from '../../../support/tables/store.ts'

const REGION = 'us-east-1'

/** Breaks all connections without notifying the clients, as happens to a frozen environment. */
async function freeze(): Promise<void> {
  await aws.dropConnections()
  await storage.dropConnections()
}

beforeEach(() => storage.reset())

describe('when all connections die between two invocations', () => {
  const meter = createCallMeter()
  const clock = { now: () => Date.now(), sleep: async () => undefined }
  const environment = { cloudKeys: { accessKey: '', secretKey: '' }, onLambda: true } as LambdaEnvironment
  const calls = createAwsProvider({ environment, clock, meter })
  const { store, commit } = tableStore(cluster)
  const deadline = () => Date.now() + 5000
  let access: AwsTarget
  let satellite: AwsTarget
  let instanceId = ''
  let keyArn = ''
  let asked: StsRequest

  beforeAll(async () => {
    const account = freshAccount()
    await aws.putUser({ account, name: 'server' })
    const pair = await aws.createAccessKey({ account, user: 'server' })
    const url = cluster.provider_url
    const client = {
      version: fresh('v'),
      maxRetries: 0,
      endpoint: url,
      iamEndpoint: url,
      stsEndpoint: url,
      stsRegion: '',
      credentials: { accessKey: pair.accessKeyId, secretKey: new Secret(pair.secretAccessKey) },
    }
    access = { account, region: REGION, client }
    const other = freshAccount()
    const { arn } = await aws.putRole({ account: other, name: 'cloud-auth-reader' })
    satellite = { account: other, region: REGION, client, assume: { role: arn, externalId: '' } }
    ;({ instanceId } = await launch({ account }))
    keyArn = `arn:aws:kms:${REGION}:${account}:key/one`
    process.env['AWS_ENDPOINT_URL_KMS'] = url
    const { headers, body } = signCallerIdentity(pair)
    const sent = headers.filter(([name]) => name.toLowerCase() !== 'host')
    const host = 'sts.amazonaws.com'
    asked = { method: 'POST', endpoint: url, host, target: '/', headers: sent, body, maxRetries: 0 }
  })

  let version = 0
  const newlyConfigured = (one: AwsTarget): AwsTarget => {
    version += 1
    return { ...one, client: { ...one.client, version: `${one.client.version}.${version}` } }
  }

  test.each<[string, () => Promise<unknown>]>([
    [
      "STS with the caller's request",
      () => createStsCallerIdentity({ clock, meter, redirect: '' }).forward(asked, deadline()),
    ],
    [
      "STS for the server's own account",
      () => createIamPrincipals(calls).profile(newlyConfigured(access), 'none', deadline()),
    ],
    [
      'STS for an assumed role',
      () => createIamPrincipals(calls).profile(newlyConfigured(satellite), 'none', deadline()),
    ],
    ['EC2', () => createEc2Instances(calls, { clock, meter }).describe(access, instanceId, deadline())],
    ['IAM', () => createIamPrincipals(calls).find(access, { type: 'user', name: 'server' }, deadline())],
    [
      'IAM for access keys',
      () =>
        createIamAccessKeys({ provider: calls, region: REGION, clock, meter }).owner(
          access.client,
          deadline(),
        ),
    ],
  ])('a call to %s succeeds without using up a retry', async (_name, call) => {
    const watch = callWatch()
    await call() // the second call uses warm caches, as later ones do
    const { calls: cost } = await meter.measure(call)
    await watch()
    await freeze()
    expect((await meter.measure(call)).calls).toEqual(cost)
    expect((await watch()).every(({ status }) => status < 500)).toBe(true)
  })

  test('a KMS call keeps all retries for faults of KMS', async () => {
    const kms = createLazyKms(meter)
    const { wrapped, dataKey } = await kms.newDataKey('ring', keyArn)
    await freeze()
    await aws.fault({ service: 'kms', action: 'Decrypt', kind: 'error', times: 2 })
    expect(await kms.unwrap({ id: 'ring', wrappedKey: wrapped })).toEqual(dataKey)
  })

  test('a DynamoDB call keeps all retries for faults of DynamoDB', async () => {
    await store.read([key('cluster')])
    await freeze()
    await storage.reset()
    await storage.fault({ kind: 'error', when: 'before', skip: 0, times: 2, operation: 'BatchGetItem' })
    expect(await store.read([key('cluster')])).toEqual([expect.objectContaining({ kind: 'cluster' })])
    expect((await storage.calls()).length).toBe(3)
  })

  test('a DynamoDB write that took effect before its connection died is not repeated', async () => {
    const place = key('sts-role', fresh('m'), 'a')
    const data = { roleArn: 'arn', externalId: '' } as never
    await store.read([place])
    await storage.fault({ kind: 'reset', when: 'after', skip: 0 })
    expect(await commit(createItem(place, data))).toBe('done')
    expect((await storage.calls()).filter(one => one.operation === 'PutItem')).toHaveLength(2)
    await storage.fault({ kind: 'reset', when: 'after', skip: 0 })
    expect(await commit(createItem(key('sts-role', fresh('m'), 'a'), data), removeItem(place))).toBe('done')
    expect(await store.read([place])).toEqual([undefined])
  })
})

describe('a cluster whose connections died between two requests', () => {
  test('accepts logins on a mount with max_retries 0', async () => {
    const account = freshAccount()
    await aws.putUser({ account, name: 'server' })
    const server = await aws.createAccessKey({ account, user: 'server' })
    const { path: mount } = await freshMount()
    await done('POST', `${mount}/config/client`, {
      access_key: server.accessKeyId,
      secret_key: server.secretAccessKey,
      max_retries: 0,
    })
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    const { arn } = await aws.putUser({ account, name: 'bob' })
    const bob = await aws.createAccessKey({ account, user: 'bob' })
    await aws.putRole({ account, name: 'app' })
    const profile = await aws.putInstanceProfile({ account, name: 'app', roles: ['app'] })
    await done('POST', `${mount}/role/bob`, { bound_iam_principal_arn: arn })
    await done('POST', `${mount}/role/web`, {
      auth_type: 'ec2',
      bound_iam_role_arn: `arn:aws:iam::${account}:role/app`,
    })
    const instance = await launch({ account, instanceProfileArn: profile.arn })
    const logins = async () => [
      (await loginAs(mount, instance, { role: 'web', nonce: 'n' })).status,
      (await loginWith(mount, bob, { role: 'bob' })).status,
    ]
    expect(await logins()).toEqual([200, 200])
    const watch = callWatch()
    await watch()
    await freeze()
    expect(await logins()).toEqual([200, 200])
    expect((await watch()).map(({ action }) => action)).toEqual([
      'DescribeInstances',
      'GetInstanceProfile',
      'GetCallerIdentity',
    ])
  })

  test('creates one access key, not two, when it rotates its AWS credentials', async () => {
    const one = await rotating()
    await isServed(one)
    const watch = callWatch()
    await watch()
    await freeze()
    expect((await rotate(one)).status).toBe(200)
    const created = (await watch()).filter(({ action }) => action === 'CreateAccessKey')
    expect(created).toHaveLength(1)
    await isServed(one)
  })

  test('never retries CreateAccessKey, because a lost answer may hide a created key', async () => {
    const one = await rotating()
    await isServed(one)
    const watch = callWatch()
    await watch()
    await aws.fault({ service: 'iam', action: 'CreateAccessKey', kind: 'reset', when: 'after' })
    expect((await rotate(one)).status).toBe(502)
    const created = (await watch()).filter(({ action }) => action === 'CreateAccessKey')
    expect(created).toHaveLength(1)
  })
})
