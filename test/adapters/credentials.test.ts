import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type RunningProvider as Aws, startProvider } from '../../infra/local/provider/provider.ts'
import { readBaseCredentials } from '../../shared/adapters/aws/credentials.ts'
import type { LambdaEnvironment } from '../../shared/adapters/aws/environment.ts'
import type { ProviderSettings } from '../../shared/ports.ts'
import { Secret } from '../../shared/values/secret.ts'
import { rawServer, webServer } from '../support/service/server.ts'

const PLACE = { account: '111122223333', region: 'eu-west-1' }
const RUNTIME = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']

let aws: Aws
let metadata = ''
beforeAll(async () => {
  aws = await startProvider({ home: PLACE })
  await aws.control.putRole({ account: PLACE.account, name: 'server' })
  const { arn } = await aws.control.putInstanceProfile({
    account: PLACE.account,
    name: 'server',
    roles: ['server'],
  })
  const { instanceId } = await aws.control.putInstance({ ...PLACE, instanceProfileArn: arn })
  metadata = await metadataOf(instanceId)
  return () => aws.close()
})

const metadataOf = async (instanceId: string): Promise<string> =>
  (await aws.control.metadataPort({ ...PLACE, instanceId })).url

/** Makes a user and a key pair for it. The name shows whose credentials were chosen. */
async function pairOf(name: string): Promise<{ accessKey: string; secretKey: string }> {
  await aws.control.putUser({ account: PLACE.account, name })
  const made = await aws.control.createAccessKey({ account: PLACE.account, user: name })
  return { accessKey: made.accessKeyId, secretKey: made.secretAccessKey }
}

const none = { accessKey: '', secretKey: '' }
const environment = (given: Partial<LambdaEnvironment> = {}): LambdaEnvironment =>
  ({ cloudKeys: none, onLambda: false, metadataEndpoint: metadata, ...given }) as LambdaEnvironment

const unconfigured = {} as ProviderSettings
const configured = ({ accessKey, secretKey }: { accessKey: string; secretKey: string }) =>
  ({ credentials: { accessKey, secretKey: new Secret(secretKey) } }) as ProviderSettings

/** Returns the identity that STS reports for the chosen credentials. */
async function chosen(settings: ProviderSettings, given: LambdaEnvironment): Promise<string | undefined> {
  const credentials = await readBaseCredentials(settings, given)
  const sts = new STSClient({ region: PLACE.region, endpoint: aws.url, credentials })
  return (await sts.send(new GetCallerIdentityCommand({}))).Arn?.replace(/^.*:/, '')
}

describe('credentials for calls to AWS', () => {
  const before = { ...process.env }
  const runtime = ({ accessKey, secretKey }: { accessKey: string; secretKey: string }) =>
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey })
  beforeEach(() => {
    for (const name of RUNTIME) delete process.env[name]
  })
  afterEach(() => {
    process.env = { ...before }
  })

  test('are taken from the configuration, then CLOUD_*, then the runtime, then the instance', async () => {
    const [own, cloud, lambda] = await Promise.all(['configured', 'cloud', 'runtime'].map(pairOf))
    if (!own || !cloud || !lambda) throw new Error('three pairs')
    runtime(lambda)
    const all = environment({ cloudKeys: cloud })
    expect(await chosen(configured(own), all)).toBe('user/configured')
    expect(await chosen(unconfigured, all)).toBe('user/cloud')
    expect(await chosen(unconfigured, environment())).toBe('user/runtime')
    for (const name of RUNTIME) delete process.env[name]
    expect(await chosen(unconfigured, environment())).toMatch(/^assumed-role\/server\/i-/)
  })

  test('half a pair of keys is ignored', async () => {
    const { accessKey } = await pairOf('half')
    process.env['AWS_ACCESS_KEY_ID'] = accessKey
    const half = environment({ cloudKeys: { accessKey, secretKey: '' } })
    expect(await chosen(unconfigured, half)).toMatch(/^assumed-role\/server\//)
  })

  test('include the session token of the runtime', async () => {
    const session = await aws.control.session({ account: PLACE.account, role: 'server', session: 'lambda' })
    runtime({ accessKey: session.accessKeyId, secretKey: session.secretAccessKey })
    process.env['AWS_SESSION_TOKEN'] = session.sessionToken
    expect(await chosen(unconfigured, environment())).toBe('assumed-role/server/lambda')
  })

  test('credentials of an instance have an expiration, so that callers fetch fresh credentials', async () => {
    const { expiration } = await readBaseCredentials(unconfigured, environment())
    expect(expiration?.getTime()).toBeGreaterThan(Date.now())
  })

  test('on Lambda the metadata service is never called', async () => {
    const asked = async () => (await aws.control.calls()).calls.filter(call => call.service === 'imds').length
    const count = await asked()
    await expect(readBaseCredentials(unconfigured, environment({ onLambda: true }))).rejects.toThrow(
      'no credentials for calls to AWS: configure access_key and secret_key',
    )
    expect(await asked()).toBe(count)
  })

  test('a metadata service that breaks off its answer is reported as a broken connection', async () => {
    const { url } = await rawServer(onTestFinished, socket =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')),
    )
    await expect(
      readBaseCredentials(unconfigured, environment({ metadataEndpoint: url })),
    ).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('an endless answer of the metadata service fails at the size limit', async () => {
    const { url } = await webServer(onTestFinished, (_, response) => {
      const more = () => void (response.destroyed || response.write('x'.repeat(65_536), more))
      more()
    })
    await expect(readBaseCredentials(unconfigured, environment({ metadataEndpoint: url }))).rejects.toThrow(
      'instance metadata answered more than 65536 bytes',
    )
  })

  test('a metadata service that refuses is reported with its status', async () => {
    const nowhere = environment({ metadataEndpoint: await metadataOf('i-0fffffffffffffff0') })
    await expect(readBaseCredentials(unconfigured, nowhere)).rejects.toThrow('instance metadata answered 404')
  })
})
