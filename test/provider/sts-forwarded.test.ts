import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { describe, expect, test } from 'vitest'
import { account, provider, providerWithUser, region } from './clients.ts'
import {
  basicDate,
  callerIdentityPost,
  presign,
  signHeaders,
  type TestKey,
  type TestRequest,
} from './hand-signer.ts'
import { element, send } from './send.ts'

const regionalHost = `sts.${region}.amazonaws.com`
const signing = (key: TestKey, more: object = {}) => ({
  key,
  region,
  service: 'sts',
  date: basicDate(),
  ...more,
})

/** Catches the request for GetCallerIdentity that the SDK would send to AWS. */
async function caughtFromSdk(key: TestKey, inRegion: string): Promise<TestRequest> {
  const caught: TestRequest[] = []
  const requestHandler = {
    handle: async (request: {
      method: string
      path: string
      headers: Record<string, string>
      body: string
    }) => {
      const { 'content-length': _length, ...headers } = request.headers
      caught.push({ ...request, query: '', headers: Object.entries(headers) })
      throw new Error('caught')
    },
  }
  const client = new STSClient({ region: inRegion, credentials: key, requestHandler, maxAttempts: 1 })
  await client.send(new GetCallerIdentityCommand()).catch(() => undefined)
  return caught[0] as TestRequest
}

interface PresignedBySdk {
  query: Record<string, string>
}

describe('forwarded requests', () => {
  test.each([region, 'us-east-1', 'ap-southeast-3'])(
    'a POST that the SDK signed for %s is answered',
    async inRegion => {
      const { url, key, user } = await providerWithUser()
      const request = await caughtFromSdk(key, inRegion)
      expect(request.headers).toContainEqual(['host', `sts.${inRegion}.amazonaws.com`])
      const answer = await send(url, request)
      expect([answer.status, element(answer.body, 'Arn')]).toEqual([200, user.arn])
    },
  )

  test('a POST of a session with a signed header of the login server is answered', async () => {
    const { url, control } = await provider()
    await control.putRole({ account, name: 'app' })
    const key = await control.session({ account, role: 'app', session: 'worker' })
    const request = callerIdentityPost(regionalHost, [['X-Service-Cloud-IAM-Server-ID', 'vault.example']])
    const answer = await send(url, signHeaders(request, signing(key)))
    expect([answer.status, element(answer.body, 'Arn')]).toEqual([200, key.arn])
  })

  test('the Date header can date a POST', async () => {
    const { url, key } = await providerWithUser()
    const now = Date.now()
    const dated = signing(key, { date: basicDate(now) })
    const sent = (value: string) =>
      send(url, signHeaders(callerIdentityPost(regionalHost), dated, ['Date', value]))
    expect((await sent(new Date(now).toUTCString())).status).toBe(200)
    expect((await sent(basicDate(now))).status).toBe(200)
    expect((await sent(new Date(now - 60_000).toUTCString())).status).toBe(403)
    expect((await sent('yesterday')).status).toBe(400)
  })

  test('the path `//` counts as `/`, because Vault sends `//`', async () => {
    const { url, key } = await providerWithUser()
    const request = signHeaders(callerIdentityPost(regionalHost), signing(key))
    expect(await send(url, { ...request, path: '//' })).toMatchObject({ status: 200 })
    expect(await send(url, { ...request, path: '/x' })).toMatchObject({ status: 403 })
    const elsewhere = await send(
      url,
      signHeaders({ ...callerIdentityPost(regionalHost), path: '/x' }, signing(key)),
    )
    expect([elsewhere.status, element(elsewhere.body, 'Code')]).toEqual([400, 'InvalidAction'])
  })

  const get = (host = regionalHost): TestRequest => ({
    method: 'GET',
    path: '/',
    query: 'Action=GetCallerIdentity&Version=2011-06-15',
    headers: [['Host', host]],
    body: '',
  })

  test.each([
    ['signed', false],
    ['appended', true],
  ])('a presigned GET of a session with its token %s is answered', async (_name, late) => {
    const { url, control } = await provider()
    await control.putRole({ account, name: 'app' })
    const key = await control.session({ account, role: 'app', session: 'worker' })
    const answer = await send(url, presign(get(), signing(key), late))
    expect([answer.status, element(answer.body, 'Arn')]).toEqual([200, key.arn])
  })

  test('a presigned GET made by the SDK is answered', async () => {
    const { url, key, user } = await providerWithUser()
    const { config } = new STSClient({ region, credentials: key })
    const signer = (await config.signer()) as unknown as { presign(request: object): Promise<PresignedBySdk> }
    const unsigned = { method: 'GET', protocol: 'https:', hostname: regionalHost, path: '/' }
    const query = { Action: 'GetCallerIdentity', Version: '2011-06-15' }
    const signed = await signer.presign({ ...unsigned, query, headers: { host: regionalHost } })
    const answer = await send(url, { ...get(), query: new URLSearchParams(signed.query).toString() })
    expect([answer.status, element(answer.body, 'Arn')]).toEqual([200, user.arn])
  })

  test('a presigned GET is valid for 15 minutes, whatever X-Amz-Expires says', async () => {
    const { url, control, key } = await providerWithUser()
    const request = presign(get(), signing(key))
    await control.advance({ seconds: 14 * 60 })
    expect(await send(url, request)).toMatchObject({ status: 200 })
    await control.advance({ seconds: 61 })
    const answer = await send(url, request)
    expect([answer.status, element(answer.body, 'Code')]).toEqual([403, 'SignatureDoesNotMatch'])
    expect(element(answer.body, 'Message')).toContain('Signature expired: ')
  })

  test.each([
    ['a changed action', (query: string) => query.replace('GetCallerIdentity', 'AssumeRole'), 403],
    ['a header named as signed too', (query: string) => query.replace('=host', '=host%3Bx-id'), 403],
    ['two credentials', (query: string) => `${query}&X-Amz-Credential=x`, 400],
    ['two actions', (query: string) => `${query}&Action=GetCallerIdentity`, 403],
    ['another case of a signed name', (query: string) => query.replace('X-Amz-Date', 'x-amz-date'), 400],
  ])('a presigned GET with %s is refused (CVE-2022-2385 class)', async (_name, change, status) => {
    const { url, key } = await providerWithUser()
    const request = presign(get(), signing(key))
    expect(await send(url, { ...request, query: change(request.query) })).toMatchObject({ status })
  })
})

describe('the host that a request was signed for', () => {
  const outcome = async (
    host: string,
    inRegion: string,
    partition: 'aws' | 'aws-cn' | 'aws-us-gov' = 'aws',
  ) => {
    const { url, control } = await provider()
    await control.putUser({ account, name: 'eve', partition })
    const key = await control.createAccessKey({ account, user: 'eve' })
    const request = signHeaders(callerIdentityPost(host), signing(key, { region: inRegion }))
    const answer = await send(url, request)
    return answer.status === 200 ? 'held' : element(answer.body, 'Message')
  }

  test.each([
    ['sts.amazonaws.com', 'us-east-1', 'aws'],
    // the imitated AWS answers for the STS endpoints of all regions, so it accepts a signature for eu-west-1
    ['sts.amazonaws.com', 'eu-west-1', 'aws'],
    ['sts.eu-west-1.amazonaws.com', 'eu-west-1', 'aws'],
    ['sts-fips.us-west-2.amazonaws.com', 'us-west-2', 'aws'],
    ['vpce-0a1b-xyz.sts.eu-west-1.vpce.amazonaws.com', 'eu-west-1', 'aws'],
    ['sts.eu-west-1.api.aws', 'eu-west-1', 'aws'],
    ['sts.cn-north-1.amazonaws.com.cn', 'cn-north-1', 'aws-cn'],
    ['sts.us-gov-west-1.amazonaws.com', 'us-gov-west-1', 'aws-us-gov'],
    ['127.0.0.1:8200', 'sa-east-1', 'aws-cn'],
  ] as const)('%s takes a signature of %s by a principal of %s', async (host, inRegion, partition) => {
    expect(await outcome(host, inRegion, partition)).toBe('held')
  })

  test.each([
    ['sts.amazonaws.com', 'nowhere', 'aws'],
    ['sts.amazonaws.com', 'cn-north-1', 'aws'],
    ['sts.amazonaws.com', 'us-gov-west-1', 'aws-us-gov'],
    ['sts.eu-west-1.amazonaws.com', 'us-east-1', 'aws'],
    ['sts.eu-west-1.amazonaws.com', 'eu-west-1', 'aws-cn'],
    ['sts.cn-north-1.amazonaws.com.cn', 'cn-north-1', 'aws'],
    ['sts.cn-north-1.amazonaws.com', 'cn-north-1', 'aws-cn'],
    ['sts.us-gov-west-1.amazonaws.com', 'us-gov-west-1', 'aws'],
    ['sts.amazonaws.com.cn', 'us-east-1', 'aws-cn'],
  ] as const)('%s refuses a signature of %s by a principal of %s', async (host, inRegion, partition) => {
    expect(await outcome(host, inRegion, partition)).toBe(
      `Credential should be scoped to a valid region, not '${inRegion}'.`,
    )
  })

  test.each([
    ['sts.amazonaws.com', 'eu-west-1', 'sts.eu-west-1.amazonaws.com', 200],
    ['sts.amazonaws.com', 'us-east-1', 'sts.amazonaws.com', 200],
    ['sts.amazonaws.com', 'eu-west-1', 'sts.amazonaws.com', 403],
    ['sts.amazonaws.com', 'us-east-1', 'sts.eu-west-1.amazonaws.com', 403],
    ['sts.eu-west-1.amazonaws.com', 'eu-west-1', 'sts.us-west-2.amazonaws.com', 403],
  ] as const)('%s signed for %s, sent to the endpoint %s: %i', async (host, inRegion, endpoint, status) => {
    const { url, key } = await providerWithUser()
    const request = signHeaders(callerIdentityPost(host), signing(key, { region: inRegion }))
    const headers = [...request.headers, ['Forwarded', `host=${endpoint}`] as [string, string]]
    expect((await send(url, { ...request, headers })).status).toBe(status)
  })

  test('an STS host refuses a signature for another service', async () => {
    const { url, key } = await providerWithUser()
    const request = signHeaders(callerIdentityPost(regionalHost), signing(key, { service: 'iam' }))
    const answer = await send(url, request)
    expect(element(answer.body, 'Message')).toBe("Credential should be scoped to correct service: 'sts'.")
  })
})
