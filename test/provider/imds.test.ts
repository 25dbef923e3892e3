import { DescribeInstancesCommand } from '@aws-sdk/client-ec2'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { account, clientsOf, provider, region } from './clients.ts'

const tokenHeader = 'x-aws-ec2-metadata-token'
const ttlHeader = 'x-aws-ec2-metadata-token-ttl-seconds'

async function machine() {
  const { url, control } = await provider()
  await control.putRole({ account, name: 'app', path: '/deep/' })
  const profile = await control.putInstanceProfile({ account, name: 'front', roles: ['app'] })
  const instance = await control.putInstance({ account, region, instanceProfileArn: profile.arn })
  const portOf = async ({ instanceId }: { instanceId: string }): Promise<string> =>
    (await control.metadataPort({ account, region, instanceId })).url
  const base = `${await portOf(instance)}/latest`
  const askToken = (headers: Record<string, string>) => fetch(`${base}/api/token`, { method: 'PUT', headers })
  const token = await (await askToken({ [ttlHeader]: '60' })).text()
  const get = (item: string, headers: Record<string, string> = { [tokenHeader]: token }) =>
    fetch(`${base}/${item}`, { headers })
  return { url, control, instance, portOf, askToken, token, get }
}

describe('tokens of the metadata service', () => {
  test.each([
    ['1', 200],
    ['21600', 200],
    ['0', 400],
    ['21601', 400],
    ['1e3', 400],
    ['', 400],
  ])('a lifetime of %o answers %i', async (ttl, status) => {
    const { askToken } = await machine()
    expect((await askToken({ [ttlHeader]: ttl })).status).toBe(status)
  })

  test('a request without a lifetime or through a proxy is refused', async () => {
    const { askToken } = await machine()
    expect((await askToken({})).status).toBe(400)
    expect((await askToken({ [ttlHeader]: '60', 'X-Forwarded-For': '10.0.0.1' })).status).toBe(403)
  })

  test('an item is refused without a token, or with an altered or expired token', async () => {
    const { control, get, token } = await machine()
    expect((await get('meta-data/instance-id', {})).status).toBe(401)
    const altered = token.replace(/.$/, last => (last === 'A' ? 'B' : 'A'))
    expect((await get('meta-data/instance-id', { [tokenHeader]: altered })).status).toBe(401)
    expect((await get('meta-data/instance-id')).status).toBe(200)
    await control.advance({ seconds: 60 })
    expect((await get('meta-data/instance-id')).status).toBe(401)
  })

  test('the token of another instance is refused', async () => {
    const { control, portOf, token } = await machine()
    const other = await control.putInstance({ account, region })
    const path = `${await portOf(other)}/latest/meta-data/instance-id`
    expect((await fetch(path, { headers: { [tokenHeader]: token } })).status).toBe(401)
  })
})

describe('items of the metadata service', () => {
  test.each([
    ['meta-data/instance-id', 'instanceId'],
    ['meta-data/ami-id', 'imageId'],
    ['meta-data/placement/region', 'region'],
    ['meta-data/placement/availability-zone', 'availabilityZone'],
  ] as const)('the item %s has the value of the instance', async (item, field) => {
    const { get, instance } = await machine()
    expect(await (await get(item)).text()).toBe(instance[field])
  })

  test('the identity document and its three signed forms are those of the instance', async () => {
    const { get, control, instance } = await machine()
    const read = async (item: string) => (await get(`dynamic/instance-identity/${item}`)).text()
    const documents = await control.documents(instance)
    expect(await read('document')).toBe(documents.document)
    // a repeated RSA signature is equal; the other signatures contain a time or random parts
    expect(await read('signature')).toBe(documents.signature)
    expect((await read('pkcs7')).slice(0, 76)).toBe(documents.pkcs7.slice(0, 76))
    expect((await read('rsa2048')).slice(0, 76)).toBe(documents.rsa2048.slice(0, 76))
  })

  test("credentials are the role's credentials, with the instance’s ID as session name", async () => {
    const { url, get, instance } = await machine()
    expect(await (await get('meta-data/iam/security-credentials/')).text()).toBe('app')
    const answer = await get('meta-data/iam/security-credentials/app')
    const found = (await answer.json()) as Record<string, string>
    expect(found).toMatchObject({ Code: 'Success', Type: 'AWS-HMAC' })
    const { AccessKeyId = '', SecretAccessKey = '', Token = '' } = found
    const { sts } = clientsOf(url, {
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      sessionToken: Token,
    })
    expect(await sts.send(new GetCallerIdentityCommand())).toMatchObject({
      Arn: `arn:aws:sts::${account}:assumed-role/app/${instance.instanceId}`,
    })
  })

  test('every instance has credentials of its own role, which only identify the instance', async () => {
    const { url, control, portOf } = await machine()
    const bare = await control.putInstance({ account, region })
    const base = `${await portOf(bare)}/latest`
    const asked = await fetch(`${base}/api/token`, { method: 'PUT', headers: { [ttlHeader]: '60' } })
    const headers = { [tokenHeader]: await asked.text() }
    const list = `${base}/meta-data/identity-credentials/ec2/security-credentials`
    expect(await (await fetch(`${list}/`, { headers })).text()).toBe('ec2-instance')
    const answer = await fetch(`${list}/ec2-instance`, { headers })
    const {
      AccessKeyId = '',
      SecretAccessKey = '',
      Token = '',
    } = (await answer.json()) as Record<string, string>
    const { sts, ec2 } = clientsOf(url, {
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      sessionToken: Token,
    })
    expect(await sts.send(new GetCallerIdentityCommand())).toMatchObject({
      Arn: `arn:aws:sts::${account}:assumed-role/aws:ec2-instance/${bare.instanceId}`,
      UserId: `${account}:aws:ec2-instance:${bare.instanceId}`,
      Account: account,
    })
    await expect(ec2.send(new DescribeInstancesCommand({}))).rejects.toThrow(/not authorized to perform/)
    await control.advance({ seconds: 6 * 3600 + 1 })
    await expect(sts.send(new GetCallerIdentityCommand())).rejects.toThrow(/expired/)
  })

  test('credentials of another role or without a profile are not found', async () => {
    const { get, control, instance } = await machine()
    expect((await get('meta-data/iam/security-credentials/other')).status).toBe(404)
    for (const instanceProfileArn of [null, `arn:aws:iam::${account}:instance-profile/other/front`]) {
      await control.setInstance({ account, region, instanceId: instance.instanceId, instanceProfileArn })
      expect((await get('meta-data/iam/security-credentials/')).status).toBe(404)
      expect((await get('meta-data/iam/security-credentials/app')).status).toBe(404)
    }
  })

  test('an unknown item and an unknown instance are answered with 404', async () => {
    const { get, portOf } = await machine()
    expect((await get('meta-data/constructor')).status).toBe(404)
    expect((await get('constructor')).status).toBe(404)
    const path = `${await portOf({ instanceId: 'i-0fffffffffffffff0' })}/latest/api/token`
    expect((await fetch(path, { method: 'PUT', headers: { [ttlHeader]: '60' } })).status).toBe(404)
  })
})

describe('the port of an instance', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  test('serves clients that keep only host and port of an address', async () => {
    const { url, control, instance } = await machine()
    const { instanceId } = instance
    const { url: metadata } = await control.metadataPort({ account, region, instanceId })
    expect(new URL(metadata).pathname).toBe('/')
    // empty, because Vitest does not delete a variable that an earlier file of the worker has set
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_PROFILE'])
      vi.stubEnv(name, '')
    vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', metadata)
    const sts = new STSClient({ endpoint: url, region })
    expect(await sts.send(new GetCallerIdentityCommand())).toMatchObject({
      Arn: `arn:aws:sts::${account}:assumed-role/app/${instanceId}`,
    })
  })

  test('serves one instance and never changes', async () => {
    const { url, control, instance, token } = await machine()
    const other = await control.putInstance({ account, region })
    const portOf = ({ instanceId }: { instanceId: string }) =>
      control.metadataPort({ account, region, instanceId })
    const [own, again, foreign] = [await portOf(instance), await portOf(instance), await portOf(other)]
    expect(again).toEqual(own)
    const get = (base: string, path: string) =>
      fetch(`${base}${path}`, { headers: { [tokenHeader]: token } }).then(({ status }) => status)
    const item = '/latest/meta-data/instance-id'
    expect(await get(own.url, item)).toBe(200)
    expect(await get(foreign.url, item)).toBe(401)
    const whole = `/imds/${account}/${region}/${instance.instanceId}${item}`
    expect(await get(own.url, whole)).toBe(404)
    expect(await get(url, whole), 'the port of all services has no metadata').toBe(403)
    expect(await get(own.url, '/_control/calls')).toBe(404)
  })

  test('cannot be a port that is in use', async () => {
    const { url, control } = await machine()
    const port = Number(new URL(url).port)
    const asked = control.metadataPort({ account, region, instanceId: 'i-0fffffffffffffff0', port })
    await expect(asked).rejects.toThrow('EADDRINUSE')
  })
})
