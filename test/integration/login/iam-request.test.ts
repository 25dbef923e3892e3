import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { TestKey } from '../../provider/hand-signer.ts'
import { callWatch, errorsOf, type SignOptions, signedBy } from '../../support/requests/logins.ts'
import { api, aws, done, freshAccount, freshMount } from '../../support/service/cluster.ts'
import { webServer } from '../../support/service/server.ts'

const account = freshAccount()
let bob: TestKey
beforeAll(async () => {
  await aws.putUser({ account, name: 'bob' })
  bob = await aws.createAccessKey({ account, user: 'bob' })
})

async function mountWith(config?: object): Promise<string> {
  const { path } = await freshMount()
  if (config) await done('POST', `${path}/config/client`, config)
  await done('POST', `${path}/role/bob`, {
    bound_iam_principal_arn: `arn:aws:iam::${account}:user/bob`,
    resolve_aws_unique_ids: false,
  })
  return path
}

const login = (mount: string, fields: object) =>
  api('POST', `${mount}/login`, { role: 'bob', ...fields }, { token: '' })

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const url = (text: string) => ({ iam_request_url: base64(text) })
const body = (text: string) => ({ iam_request_body: base64(text) })

const watch = callWatch()
beforeEach(watch)

/** Returns the calls to STS with the user's key in this test. */
const calls = async () => (await watch()).filter(call => JSON.stringify(call).includes(bob.accessKeyId))

describe('requests other than a plain GetCallerIdentity: CVE-2020-16250, CVE-2022-2385', () => {
  let mount = ''
  beforeAll(async () => {
    mount = await mountWith()
  })

  const posts: [string, () => object][] = [
    ['no method', () => ({ iam_http_request_method: '' })],
    ['the method post', () => ({ iam_http_request_method: 'post' })],
    ['the method PUT', () => ({ iam_http_request_method: 'PUT' })],
    ['a method with a line end', () => ({ iam_http_request_method: 'POST\r\nX: 1' })],
    ['an empty URL', () => ({ iam_request_url: '' })],
    ['a URL that is not base64', () => ({ iam_request_url: 'https://sts.amazonaws.com/' })],
    ['a URL in base64url', () => ({ iam_request_url: '-_-_' })],
    ['an http URL', () => url('http://sts.amazonaws.com/')],
    ['a file URL', () => url('file:///etc/passwd')],
    ['a user name in the URL', () => url('https://sts.amazonaws.com@evil.example/')],
    ['a user name and password in the URL', () => url('https://a:b@sts.amazonaws.com/')],
    ['a fragment', () => url('https://sts.amazonaws.com/#x')],
    ['a path', () => url('https://sts.amazonaws.com/x')],
    ['a path with dots', () => url('https://sts.amazonaws.com/../')],
    ['two slashes', () => url('https://sts.amazonaws.com//')],
    ['a backslash', () => url('https://sts.amazonaws.com\\@evil.example/')],
    ['a tab', () => url('https://sts.amazonaws.com/\t')],
    ['a line end in the host', () => url('https://sts.amazonaws.com\r\nHost: evil.example/')],
    ['non-ASCII letters in the host', () => url('https://ﬆs.amazonaws.com/')],
    ['a query with POST', () => url('https://sts.amazonaws.com/?Action=GetCallerIdentity')],
    ['a URL over 8 KiB', () => url(`https://sts.amazonaws.com/?${'a'.repeat(8200)}`)],
    ['an empty body', () => body('')],
    ['a body that is not base64', () => ({ iam_request_body: 'Action=GetCallerIdentity' })],
    ['another action', () => body('Action=GetSessionToken&Version=2011-06-15')],
    [
      'an action that names a role',
      () => body('Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=x'),
    ],
    ['two actions', () => body('Action=GetCallerIdentity&Version=2011-06-15&Action=AssumeRole')],
    [
      'an action key in lower case',
      () => body('action=AssumeRole&Action=GetCallerIdentity&Version=2011-06-15'),
    ],
    ['no action', () => body('Version=2011-06-15')],
    ['no version', () => body('Action=GetCallerIdentity')],
    ['another version', () => body('Action=GetCallerIdentity&Version=2012-06-15')],
    ['an additional parameter', () => body('Action=GetCallerIdentity&Version=2011-06-15&A=1')],
    ['a semicolon', () => body('Action=GetCallerIdentity;Version=2011-06-15')],
    ['an encoded letter', () => body('Action=%47etCallerIdentity&Version=2011-06-15')],
    ['a byte order mark', () => body('\ufeffAction=GetCallerIdentity&Version=2011-06-15')],
    ['JSON', () => body('{"Action":"GetCallerIdentity"}')],
  ]

  const get =
    (query: string, options: SignOptions = {}) =>
    () =>
      signedBy(bob, { method: 'GET', query, ...options })
  const plain = 'Action=GetCallerIdentity&Version=2011-06-15'
  const withQuery = (change: (query: string) => string) => () => {
    const fields = get(plain)()
    const text = Buffer.from(String(fields['iam_request_url']), 'base64').toString()
    const [start = '', query = ''] = text.split('?')
    return { ...fields, ...url(`${start}?${change(query)}`) }
  }
  const gets: [string, () => object][] = [
    ['GET of another action', get('Action=GetSessionToken&Version=2011-06-15')],
    ['GET without action', get('Version=2011-06-15')],
    ['GET with two actions', get(`${plain}&Action=AssumeRole`)],
    ['GET with an action key in lower case', get(`${plain}&action=AssumeRole`)],
    ['GET with another version', get('Action=GetCallerIdentity&Version=2010-05-08')],
    ['GET with an additional parameter', get(`${plain}&RoleArn=x`)],
    ['GET with a second credential', withQuery(query => `${query}&X-Amz-Credential=x`)],
    ['GET with a credential key in lower case', withQuery(query => `${query}&x-amz-credential=x`)],
    ['GET with a signed-headers key in lower case', withQuery(query => `${query}&x-amz-signedheaders=x`)],
    ['GET with an encoded name', withQuery(query => query.replace('Action', '%41ction'))],
    ['GET with a plus sign', withQuery(query => query.replace('GetCallerIdentity', 'GetCaller+Identity'))],
    ['GET with a broken escape', withQuery(query => `${query}&X-Amz-User-Agent=%zz`)],
    ['GET with an empty parameter', withQuery(query => `${query}&`)],
    ['GET without signature', withQuery(query => query.replace(/&X-Amz-Signature=.*/, ''))],
    ['GET without credential', withQuery(query => query.replace(/&X-Amz-Credential=[^&]*/, ''))],
    ['GET with another algorithm', withQuery(query => query.replace('AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA1'))],
    ['GET with a body', () => ({ ...get(plain)(), ...body(plain) })],
    [
      'GET with an additional Authorization header',
      () => ({ ...get(plain)(), iam_request_headers: signedBy(bob)['iam_request_headers'] }),
    ],
  ]

  const headers = (change: (authorization: string) => string | string[]) => () => {
    const all = signedBy(bob)['iam_request_headers'] as Record<string, string>
    return { iam_request_headers: { ...all, Authorization: change(all['Authorization'] ?? '') } }
  }
  const signatures: [string, () => object][] = [
    ['no Authorization', headers(() => [])],
    ['an empty Authorization', headers(() => '')],
    [
      'an Authorization with another algorithm',
      headers(text => text.replace('AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA1')),
    ],
    ['a bearer token', headers(() => 'Bearer x')],
    ['two Authorization values', headers(text => [text, text])],
    [
      'a signature in upper case',
      headers(text => text.replace(/Signature=.*/, match => match.toUpperCase())),
    ],
    ['no SignedHeaders', headers(text => text.replace(/SignedHeaders=[^,]+, /, ''))],
    ['a scope of four parts', headers(text => text.replace('/sts/', '/'))],
  ]

  test.each([...posts, ...gets, ...signatures])(
    '%s: rejected without a call to STS',
    async (_name, change) => {
      const answer = await login(mount, { ...signedBy(bob), ...change() })
      expect(answer.status, answer.text).toBe(400)
      expect(errorsOf(answer)).not.toMatch(/^STS answered/)
      expect(await calls()).toEqual([])
    },
  )
})

describe('the host of the signed request', () => {
  const hosts = [
    'evil.example',
    'sts.amazonaws.com.evil.example',
    'sts.us-east-1.amazonaws.com.evil.example',
    'evil-sts.amazonaws.com',
    'iam.amazonaws.com',
    'ec2.us-east-1.amazonaws.com',
    '169.254.169.254',
    '127.0.0.1',
    'localhost',
    'sts.us-east-1.amazonaws.com.',
    'sts..amazonaws.com',
    'sts.us-east-1.evil.amazonaws.com',
    'sts.us-iso-east-1.amazonaws.com',
    'sts.amazonaws.com:8443',
    '[::1]',
  ]

  test.each(hosts)('%s is not an STS host: rejected without any call', async host => {
    const mount = await mountWith()
    for (const region of [undefined, 'us-east-1']) {
      const fields = signedBy(bob, { host, ...(region ? { region } : {}) })
      expect((await login(mount, fields)).status).toBe(400)
    }
    expect(await calls()).toEqual([])
  })

  test("the client's URL never decides where the request is sent (SSRF)", async ({ onTestFinished }) => {
    const trap = await webServer(onTestFinished, (_request, response) => response.end('<got/>'))
    const { host } = new URL(trap.url)
    for (const config of [undefined, { use_sts_region_from_client: true }, { sts_region: 'us-east-1' }]) {
      const mount = await mountWith(config)
      expect((await login(mount, signedBy(bob, { host }))).status).toBe(400)
      expect((await login(mount, { ...signedBy(bob), ...url(`https://${host}/`) })).status).toBe(400)
      const fields = signedBy(bob)
      const sent = { ...(fields['iam_request_headers'] as object), Host: host }
      const answer = await login(mount, { ...fields, iam_request_headers: sent })
      expect(errorsOf(answer)).toBe('header "Host" cannot be sent to STS as it was signed')
    }
    expect(trap.requests).toEqual([])
  })

  test('a configured endpoint receives every request, with the signed host name', async ({
    onTestFinished,
  }) => {
    const own = await webServer(onTestFinished, (_request, response) => {
      response.writeHead(403).end()
    })
    const mount = await mountWith({ sts_endpoint: own.url, sts_region: 'eu-west-1', max_retries: 0 })
    const { host } = new URL(own.url)
    for (const name of ['sts.eu-west-1.amazonaws.com', 'sts.amazonaws.com', host]) {
      await login(mount, signedBy(bob, { host: name, region: 'eu-west-1' }))
    }
    expect(own.requests.map(one => [one.method, one.url, one.headers.host])).toEqual([
      ['POST', '/', 'sts.eu-west-1.amazonaws.com'],
      ['POST', '/', 'sts.amazonaws.com'],
      ['POST', '/', host],
    ])
    expect((await login(mount, signedBy(bob, { host: 'evil.example' }))).status).toBe(400)
    expect(own.requests).toHaveLength(3)
  })
})

describe('the region of the signed request', () => {
  const regional = (region: string, more: SignOptions = {}) =>
    signedBy(bob, { host: `sts.${region}.amazonaws.com`, region, ...more })

  test('a regional host is rejected without use_sts_region_from_client, and the error names the setting', async () => {
    const mount = await mountWith()
    const answer = await login(mount, regional('eu-west-1'))
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toMatch(/sign for sts\.amazonaws\.com, or switch on use_sts_region_from_client/)
  })

  test.each([
    ['POST', 'eu-west-1', 'sts.eu-west-1.amazonaws.com'],
    ['GET', 'ap-southeast-3', 'sts.ap-southeast-3.amazonaws.com'],
    ['POST', 'us-east-1', 'sts.amazonaws.com'],
    ['POST', 'us-east-1', 'sts.us-east-1.amazonaws.com'],
  ] as const)(
    'with use_sts_region_from_client a %s for %s at %s is sent to that region with the signed host name',
    async (method, region, host) => {
      const mount = await mountWith({ use_sts_region_from_client: true })
      const answer = await login(mount, signedBy(bob, { method, region, host }))
      expect(answer.status, answer.text).toBe(200)
      const sent = (await calls()).at(-1)
      expect([sent?.region, sent?.headers['host']]).toEqual([region, host])
    },
  )

  test.each([
    ['POST', { use_sts_region_from_client: true }],
    ['GET', { use_sts_region_from_client: true }],
  ] as const)(
    "a %s signed for a region with the global host name is sent to the region's endpoint",
    async (method, config) => {
      const mount = await mountWith(config)
      const signed = signedBy(bob, { method, region: 'eu-west-1', host: 'sts.amazonaws.com' })
      const answer = await login(mount, signed)
      expect(answer.status, answer.text).toBe(200)
      expect((await calls()).at(-1)).toMatchObject({
        region: 'eu-west-1',
        headers: { host: 'sts.amazonaws.com', forwarded: 'host=sts.eu-west-1.amazonaws.com' },
      })
    },
  )

  test('the request is sent to a configured endpoint of that region', async () => {
    const sts = { sts_endpoint: 'https://sts.eu-west-1.amazonaws.com', sts_region: 'eu-west-1' }
    const mount = await mountWith(sts)
    const signed = signedBy(bob, { region: 'eu-west-1', host: 'sts.amazonaws.com' })
    expect((await login(mount, signed)).status).toBe(200)
    expect((await calls()).at(-1)?.headers['forwarded']).toBe('host=sts.eu-west-1.amazonaws.com')
  })

  test.each<[string, object | undefined]>([
    ['without a setting', undefined],
    ['with a configured endpoint of another region', { sts_endpoint: 'https://sts.us-west-2.amazonaws.com' }],
  ])(
    '%s the request is rejected without a call to STS, and the error names the setting',
    async (_, config) => {
      const mount = await mountWith(config)
      const answer = await login(mount, signedBy(bob, { region: 'eu-west-1', host: 'sts.amazonaws.com' }))
      expect(answer.status).toBe(400)
      expect(errorsOf(answer)).toMatch(/sign for us-east-1, or set use_sts_region_from_client/)
      expect(await calls()).toEqual([])
    },
  )

  test.each([
    ['a region of another partition', { region: 'cn-north-1', host: 'sts.cn-north-1.amazonaws.com.cn' }],
    ['an unknown region', { region: 'nowhere', host: 'sts.nowhere.amazonaws.com' }],
    ['a malformed region', { region: 'us-east-1.evil', host: 'sts.amazonaws.com' }],
    ["a region other than the host's", { region: 'eu-west-1', host: 'sts.us-west-2.amazonaws.com' }],
    ['a region with a path', { region: '..', host: 'sts.amazonaws.com' }],
  ])('with use_sts_region_from_client %s is rejected', async (_name, options) => {
    const mount = await mountWith({ use_sts_region_from_client: true })
    const answer = await login(mount, signedBy(bob, options))
    expect(answer.status).toBe(400)
    expect(await calls()).toEqual([])
  })
})
