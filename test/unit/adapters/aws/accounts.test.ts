import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { describeInstancesByIds } from '../../../../shared/adapters/aws/describe-instances.ts'
import { readEnvironment } from '../../../../shared/adapters/aws/environment.ts'
import { createIamPrincipals } from '../../../../shared/adapters/aws/principals.ts'
import { createAwsProvider } from '../../../../shared/adapters/aws/provider.ts'
import { createSessionSource, fetchAccountOf } from '../../../../shared/adapters/aws/sessions.ts'
import { MAX_ANSWER_BYTES } from '../../../../shared/adapters/aws/wire/limits.ts'
import { wireTransport } from '../../../../shared/adapters/aws/wire/post.ts'
import { createSigV4Signer } from '../../../../shared/adapters/aws/wire/sign.ts'
import type { AwsTarget } from '../../../../shared/ports.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { rawServer, webServer } from '../../../support/service/server.ts'

// Tests calls to EC2, IAM and STS with the SDK's clients: what the adapters send and read, and that deadlines
// hold for every answer.

const ACCOUNT = '111122223333'
const REGION = 'eu-west-1'
const environment = readEnvironment({ AWS_REGION: REGION, DATA_TABLE: 'data', CLUSTER_TABLE: 'cluster' })
const clock = { now: () => Date.now(), sleep: async () => undefined }
const meter = { count: vi.fn(), measure: () => Promise.reject(new Error('not used')) }
const keys = async () => ({ accessKeyId: 'AK', secretAccessKey: 'secret' })
const credentials = { accessKey: 'AK', secretKey: new Secret('secret') }

/**
 * Returns the target for calls to the server's own account.
 * @param sts address of STS, if it differs
 */
function targetAt(url = '', maxRetries = 0, sts = url): AwsTarget {
  const endpoints = { endpoint: url, iamEndpoint: url, stsEndpoint: sts, stsRegion: '' }
  const client = { version: 'v', maxRetries, credentials, ...endpoints }
  return { account: ACCOUNT, region: REGION, client }
}

beforeEach(() => {
  vi.stubEnv('AWS_REGION', REGION)
  for (const service of ['EC2', 'IAM', 'STS']) vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, '')
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  meter.count.mockClear()
})

const OWN = `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>${ACCOUNT}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`
const item = (owner: string, instance: string) =>
  `<item><ownerId>${owner}</ownerId><instancesSet><item>${instance}</item></instancesSet></item>`
const described = (...items: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet>${items.join('')}</reservationSet></DescribeInstancesResponse>`
const result = (action: string, inner: string) =>
  `<${action}Response xmlns="https://aws.test/"><${action}Result>${inner}</${action}Result></${action}Response>`

/** Makes the imitated AWS give prepared answers, and returns the host and form of its requests. */
function answering(text: string | ((form: string) => string), status = 200) {
  const asked: string[] = []
  const post = vi.spyOn(wireTransport, 'post').mockImplementation(async ({ host, path }, headers, body) => {
    const form = String(body)
    const isOwn = form.includes('GetCallerIdentity') && typeof text === 'string' && !text.includes('Identity')
    if (!isOwn) asked.push(`${host}${path} ${form}`)
    const answer = isOwn ? OWN : typeof text === 'string' ? text : text(form)
    expect(headers['user-agent']).toMatch(/^cloud-auth /)
    return { status: isOwn ? 200 : status, headers: {}, body: Buffer.from(answer) }
  })
  return { asked, post }
}

const newProvider = () => createAwsProvider({ environment, clock, meter })
const soon = () => Date.now() + 10_000
const describeOne = (target = targetAt(), ids = ['i-1'], calls = newProvider()) =>
  describeInstancesByIds(calls, target, ids, soon())

/** Each look-up of an AWS account, by its subject. */
const lookUps: Record<string, (target: AwsTarget) => Promise<unknown>> = {
  'an instance': target => describeOne(target),
  'a user': target => createIamPrincipals(newProvider()).find(target, { type: 'user', name: 'bob' }, soon()),
  'a role': target => createIamPrincipals(newProvider()).find(target, { type: 'role', name: 'app' }, soon()),
  'a profile': target => createIamPrincipals(newProvider()).profile(target, 'web', soon()),
  'a session': target =>
    createSessionSource(target, { role: 'arn', externalId: 'x' }, keys, { clock, meter })(),
  'the own account': target => fetchAccountOf(target, keys, meter),
}

describe('requests and results', () => {
  test('an instance is returned with the facts that a login needs', async () => {
    const instance = `<instanceId>i-1</instanceId><imageId>ami-1</imageId><instanceState><code>16</code><name>running</name></instanceState>
      <vpcId>vpc-1</vpcId><subnetId>subnet-1</subnetId><iamInstanceProfile><arn>arn:profile</arn><id>AIPA</id></iamInstanceProfile>
      <tagSet><item><key>a&amp;b</key><value>1</value></item><item><key>empty</key><value/></item></tagSet>`
    const { asked } = answering(described(item(ACCOUNT, instance)))
    expect(await describeOne()).toEqual(
      new Map([
        [
          'i-1',
          {
            id: 'i-1',
            state: 'running',
            amiId: 'ami-1',
            vpcId: 'vpc-1',
            subnetId: 'subnet-1',
            profileArn: 'arn:profile',
            tags: { 'a&b': '1', empty: '' },
          },
        ],
      ]),
    )
    expect(asked).toEqual([
      'ec2.eu-west-1.amazonaws.com/ Action=DescribeInstances&Version=2016-11-15&InstanceId.1=i-1',
    ])
  })

  test('several instances are requested with a filter', async () => {
    const { asked } = answering(described())
    expect(await describeOne(targetAt(), ['i-1', 'i-2'])).toEqual(new Map())
    expect(asked).toEqual([
      'ec2.eu-west-1.amazonaws.com/ Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=instance-id&Filter.1.Value.1=i-1&Filter.1.Value.2=i-2',
    ])
  })

  test('an instance of another account, or one that was not requested, is left out', async () => {
    const one = (owner: string, id: string) => item(owner, `<instanceId>${id}</instanceId>`)
    answering(described(one(ACCOUNT, 'i-1'), one('999999999999', 'i-2'), one(ACCOUNT, 'i-3')))
    expect([...(await describeOne(targetAt(), ['i-1', 'i-2'])).keys()]).toEqual(['i-1'])
    vi.restoreAllMocks()
    answering(described(one(ACCOUNT, 'i-1'), one(ACCOUNT, 'i-1')))
    await expect(describeOne()).rejects.toMatchObject({ code: 'provider_failed' })
  })

  test.each([
    ['an instance', 'ec2', REGION],
    ['a user', 'iam', 'us-east-1'],
    ['a session', 'sts', REGION],
  ])(
    "a look-up of %s is signed for the endpoint's region, without headers that Lambda adds",
    async (name, service, region) => {
      vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'login')
      vi.stubEnv('_X_AMZN_TRACE_ID', 'Root=1-5759e988-bd862e3fe1be46a994272793')
      const { post } = answering('')
      await lookUps[name]?.(targetAt()).catch(() => undefined)
      const [{ host, path }, headers, body] = post.mock.lastCall as Parameters<typeof wireTransport.post>
      const { 'content-type': type = '', 'x-amz-date': at = '', authorization } = headers
      expect(Object.keys(headers).join()).toContain('X-Amzn-Trace-Id')
      const now = Date.parse(at.replace(/(....)(..)(..)T(..)(..)/, '$1-$2-$3T$4:$5:'))
      const sign = createSigV4Signer(service, region)
      const signed = sign({ host, path, headers: { 'content-type': type }, body }, await keys(), now)
      expect(authorization).toBe(signed['authorization'])
    },
  )

  test.each([
    ['a user', 'GetUser', '<User><Arn>arn:u</Arn><UserId>AIDA</UserId></User>', 'UserName=bob'],
    ['a role', 'GetRole', '<Role><Arn>arn:u</Arn><RoleId>AIDA</RoleId></Role>', 'RoleName=app'],
  ])('%s', async (name, action, entity, parameter) => {
    const { asked } = answering(result(action, entity))
    expect(await lookUps[name]?.(targetAt())).toEqual({ arn: 'arn:u', uniqueId: 'AIDA' })
    expect(asked).toEqual([`iam.amazonaws.com/ Action=${action}&Version=2010-05-08&${parameter}`])
  })

  test('an instance profile is returned with its roles', async () => {
    const roles = '<Roles><member><Arn>arn:r</Arn></member></Roles>'
    const profile = `<InstanceProfile><Arn>arn:p</Arn><InstanceProfileId>AIPA</InstanceProfileId>${roles}</InstanceProfile>`
    answering(result('GetInstanceProfile', profile))
    expect(await lookUps['a profile']?.(targetAt())).toEqual({
      arn: 'arn:p',
      uniqueId: 'AIPA',
      roleArns: ['arn:r'],
    })
  })

  test('the session of an assumed role is returned as its role', async () => {
    const made = `<Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2026-11-25T12:00:00Z</Expiration></Credentials>`
    const { asked } = answering(result('AssumeRole', made))
    expect(await lookUps['a session']?.(targetAt())).toEqual({
      accessKeyId: 'ASIA',
      secretAccessKey: 's',
      sessionToken: 't',
      expiration: new Date('2026-11-25T12:00:00Z'),
    })
    expect(asked).toEqual([
      'sts.eu-west-1.amazonaws.com/ Action=AssumeRole&Version=2011-06-15&RoleArn=arn&RoleSessionName=cloud-auth&DurationSeconds=900&ExternalId=x',
    ])
  })

  test.each([
    ['an instance', 400, 'InvalidInstanceID.NotFound', new Map()],
    ['a user', 404, 'NoSuchEntity', undefined],
    ['a profile', 404, 'NoSuchEntity', undefined],
  ])('an unknown %s is absent', async (name, status, code, absent) => {
    const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>none</Message></Error>`
    const form =
      name === 'an instance'
        ? `<Response><Errors>${error}</Errors><RequestID>r</RequestID></Response>`
        : `<ErrorResponse>${error}<RequestId>r</RequestId></ErrorResponse>`
    answering(form, status)
    expect(await lookUps[name]?.(targetAt())).toEqual(absent)
  })

  test('FIPS and dual-stack endpoints come from the variables, and exclude a configured endpoint', async () => {
    vi.stubEnv('AWS_USE_FIPS_ENDPOINT', 'true')
    vi.stubEnv('AWS_USE_DUALSTACK_ENDPOINT', 'true')
    const { asked } = answering(described())
    const satellite = { ...targetAt(), assume: { role: 'arn', externalId: '' } }
    await expect(describeOne(satellite)).rejects.toThrow()
    expect(asked[0]).toMatch(/^sts-fips\.eu-west-1\.api\.aws\/ /)
    await expect(lookUps['the own account']?.(targetAt('http://127.0.0.1:1'))).rejects.toMatchObject({
      code: 'provider_failed',
    })
  })

  test('the variable of a service sets its endpoint, unless the configuration sets an endpoint', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_STS', 'http://sts.test:99/way')
    const { asked } = answering(OWN)
    expect(await lookUps['the own account']?.(targetAt())).toBe(ACCOUNT)
    expect(await lookUps['the own account']?.(targetAt('http://own.test'))).toBe(ACCOUNT)
    expect(asked.map(one => one.split(' ')[0])).toEqual(['sts.test:99/way/', 'own.test/'])
  })
})

describe('deadlines hold for every answer to each look-up', () => {
  const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'
  const FAILED = { code: 'provider_failed' }
  const LATE = { code: 'busy', message: expect.stringContaining('did not answer in time') }

  /** Makes a look-up at a hostile address. If the address is not the address of STS, STS answers normally. */
  async function fails(name: string, url: string, fault: object, maxRetries = 0): Promise<void> {
    const sts = await webServer(onTestFinished, (_request, response) => response.end(OWN))
    const asksSts = ['a session', 'the own account'].includes(name)
    const answer = lookUps[name]?.(targetAt(url, maxRetries, asksSts ? url : sts.url))
    await expect(answer, name).rejects.toMatchObject(fault)
  }
  const allFail = async (...given: [url: string, fault: object, maxRetries?: number]): Promise<void> => {
    await Promise.all(Object.keys(lookUps).map(name => fails(name, ...given)))
  }
  const COUNT = Object.keys(lookUps).length

  test('101 Switching Protocols', async () => {
    const { url, count } = await rawServer(onTestFinished, socket => void socket.end(SWITCHING))
    await allFail(url, FAILED)
    expect(count()).toBe(COUNT)
  })

  test('an answer without an end', async () => {
    let sent = 0
    const chunk = Buffer.alloc(2 ** 20, 32)
    const { url } = await webServer(onTestFinished, (_request, response) => {
      const more = () => {
        if (response.destroyed) return
        sent += chunk.length
        response.write(chunk, more)
      }
      more()
    })
    for (const name of Object.keys(lookUps)) await fails(name, url, FAILED)
    expect(sent).toBeLessThan(COUNT * MAX_ANSWER_BYTES * 1.5)
  })

  test.each([
    ['no answer', () => undefined],
    [
      'a part of one',
      (response: ServerResponse) => void response.writeHead(200, { 'content-length': 9 }).write('<'),
    ],
  ])('%s', async (_name, answer) => {
    const { url, requests } = await webServer(onTestFinished, (_request, response) => answer(response))
    const begun = Date.now()
    await allFail(url, LATE)
    expect(Date.now() - begun).toBeLessThan(10_000)
    expect(requests).toHaveLength(COUNT)
  })

  test('an answer that is not XML is requested again as often as max_retries allows', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { url, requests } = await webServer(onTestFinished, (_request, response) => response.end('<a><b>'))
    await allFail(url, FAILED, 2)
    expect(requests).toHaveLength(3 * COUNT)
  })

  test('a request with a clock minutes off is repeated at once with AWS’s time, even without retries', async () => {
    const now = Date.now() + 600_000
    const { url, requests } = await webServer(onTestFinished, (request, response) => {
      const signed = String(request.headers['x-amz-date']).replace(
        /(....)(..)(..)T(..)(..)/,
        '$1-$2-$3T$4:$5:',
      )
      const isOff = Math.abs(Date.parse(signed) - now) > 300_000
      const refusal = '<ErrorResponse><Error><Code>RequestExpired</Code></Error></ErrorResponse>'
      response.writeHead(isOff ? 403 : 200, { date: new Date(now).toUTCString() }).end(isOff ? refusal : OWN)
    })
    expect(await lookUps['the own account']?.(targetAt(url))).toBe(ACCOUNT)
    expect(requests).toHaveLength(2)
  })
})
