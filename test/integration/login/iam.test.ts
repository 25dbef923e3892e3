import { beforeAll, describe, expect, test } from 'vitest'
import { basicDate, presign, type TestKey } from '../../provider/hand-signer.ts'
import {
  errorsOf,
  iamFields,
  loginWith,
  NOT_ACCEPTED,
  type SignOptions,
  satellite,
  signCallerIdentity,
  signedBy,
} from '../../support/requests/logins.ts'
import { api, aws, done, fresh, freshMount } from '../../support/service/cluster.ts'

const MINUTE = 60_000

describe('iam login', () => {
  let mount = ''
  let account = ''
  let bob: TestKey
  let worker: TestKey
  const login = (fields: object, token = '') => api('POST', `${mount}/login`, fields, { token })
  const headersOf = (fields: Record<string, unknown>) =>
    fields['iam_request_headers'] as Record<string, string>

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    account = await satellite(mount)
    await aws.putUser({ account, name: 'Bob', path: '/team/' })
    bob = await aws.createAccessKey({ account, user: 'Bob' })
    await aws.putRole({ account, name: 'Worker', path: '/svc/' })
    worker = await aws.session({ account, role: 'Worker', session: 'one' })
    for (const [name, arn] of [
      ['bob', `arn:aws:iam::${account}:user/team/Bob`],
      ['worker', `arn:aws:iam::${account}:role/svc/Worker`],
    ]) {
      await done('POST', `${mount}/role/${name}`, { bound_iam_principal_arn: arn, token_policies: name })
    }
  })

  const base64 = (value: unknown): string =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64')
  const withHeaders = (change: (headers: Record<string, string>) => unknown) => {
    const fields = signedBy(bob)
    return { ...fields, iam_request_headers: change(headersOf(fields)) }
  }
  const forms: [string, () => Record<string, unknown>, string][] = [
    ['a POST of a user', () => signedBy(bob), 'bob'],
    ['a POST of a session', () => signedBy(worker), 'worker'],
    ['a presigned GET of a user', () => signedBy(bob, { method: 'GET' }), 'bob'],
    ['a presigned GET of a session', () => signedBy(worker, { method: 'GET' }), 'worker'],
    [
      'a presigned GET with the session token appended',
      () => {
        const get = {
          method: 'GET',
          path: '/',
          query: 'Action=GetCallerIdentity&Version=2011-06-15',
          headers: [['Host', 'sts.amazonaws.com']] as [string, string][],
          body: '',
        }
        const signing = { key: worker, region: 'us-east-1', service: 'sts', date: basicDate() }
        return iamFields(presign(get, signing, true))
      },
      'worker',
    ],
    [
      'a GET with an empty body',
      () => ({ ...signedBy(bob, { method: 'GET' }), iam_request_body: '' }),
      'bob',
    ],
    [
      'a body with its parameters in reverse order',
      () => signedBy(bob, { body: 'Version=2011-06-15&Action=GetCallerIdentity' }),
      'bob',
    ],
    ['headers as JSON text', () => withHeaders(JSON.stringify), 'bob'],
    ['headers as base64 of JSON', () => withHeaders(base64), 'bob'],
    [
      'headers as lines',
      () => withHeaders(all => Object.entries(all).map(([name, value]) => `${name}: ${value}`)),
      'bob',
    ],
    [
      'headers as lists',
      () =>
        withHeaders(all => Object.fromEntries(Object.entries(all).map(([name, value]) => [name, [value]]))),
      'bob',
    ],
    [
      'headers in lower case',
      () =>
        withHeaders(all =>
          Object.fromEntries(Object.entries(all).map(([name, value]) => [name.toLowerCase(), value])),
        ),
      'bob',
    ],
    [
      'an Authorization as a list of parts',
      () => withHeaders(all => ({ ...all, Authorization: (all['Authorization'] ?? '').split(', ') })),
      'bob',
    ],
    ['a number as header value', () => withHeaders(all => ({ ...all, 'Content-Length': 43 })), 'bob'],
    ['no Host header', () => withHeaders(({ Host: _, ...all }) => all), 'bob'],
    [
      'a Host header with the port',
      () => withHeaders(all => ({ ...all, Host: 'STS.amazonaws.com:443' })),
      'bob',
    ],
    [
      'an unsigned Accept for JSON',
      () => withHeaders(all => ({ ...all, Accept: 'application/json' })),
      'bob',
    ],
    ['a signed Accept for anything', () => signedBy(bob, { headers: [['Accept', '*/*']] }), 'bob'],
    ['half of an additional ec2 login', () => ({ ...signedBy(bob), identity: 'x' }), 'bob'],
  ]
  test.each(forms)('%s is accepted', async (_name, fields, role) => {
    const answer = await login({ role, ...fields() })
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body.auth.token_policies).toEqual([role, 'default'].sort())
  })

  test('a login without a role uses the role named after the user or IAM role, in lower case', async () => {
    for (const role of [{}, { role: '' }, { role: null }]) {
      expect((await login({ ...signedBy(bob), ...role })).body.auth.token_policies).toContain('bob')
      expect((await login({ ...signedBy(worker), ...role })).body.auth.token_policies).toContain('worker')
    }
    await aws.putUser({ account, name: 'nobody' })
    const key = await aws.createAccessKey({ account, user: 'nobody' })
    const unknown = await loginWith(mount, key)
    expect([unknown.status, errorsOf(unknown)]).toEqual([400, 'no role named "nobody"'])
  })

  const times: [string, SignOptions['method'], number, number][] = [
    ['14 minutes old', 'POST', -14, 200],
    ['16 minutes old', 'POST', -16, 400],
    ['14 minutes old, with any X-Amz-Expires', 'GET', -14, 200],
    ['16 minutes old', 'GET', -16, 400],
    ['16 minutes in the future', 'POST', 16, 400],
  ]
  test.each(times)('a signature %s (%s) gets $3', async (_name, method, minutes, status) => {
    const options = { at: Date.now() + minutes * MINUTE, ...(method ? { method } : {}) }
    const answer = await loginWith(mount, bob, { role: 'bob' }, options)
    expect(answer.status, answer.text).toBe(status)
    if (status === 200) return
    const when = `the request was signed 16 minutes ${minutes < 0 ? 'ago, and STS takes 15 minutes' : 'ahead of time'}`
    expect(errorsOf(answer)).toBe(`${NOT_ACCEPTED}; by the server’s clock ${when}`)
    const nowhere = await loginWith(`/auth/${fresh('none')}`, bob, { role: 'bob' }, options)
    expect(errorsOf(nowhere)).toBe(errorsOf(answer))
  })

  test('a captured request can be replayed while its signature is valid', async () => {
    const fields = { role: 'bob', ...signedBy(bob) }
    expect([(await login(fields)).status, (await login(fields)).status]).toEqual([200, 200])
  })

  test.each([
    [
      'an unknown key',
      () => signedBy({ accessKeyId: 'AKIAUNKNOWN', secretAccessKey: 'x' }),
      'InvalidClientTokenId',
    ],
    ['a wrong secret', () => signedBy({ ...bob, secretAccessKey: 'x' }), 'SignatureDoesNotMatch'],
    [
      'a token of another session',
      () => signedBy({ ...worker, sessionToken: 'other' }),
      'InvalidClientTokenId',
    ],
    [
      'a changed header',
      () => withHeaders(all => ({ ...all, 'X-Amz-Date': basicDate(Date.now() - MINUTE) })),
      'SignatureDoesNotMatch',
    ],
    [
      'a body that differs from the signed one',
      () => ({ ...signedBy(bob), iam_request_body: base64('Version=2011-06-15&Action=GetCallerIdentity') }),
      'SignatureDoesNotMatch',
    ],
  ])("a login with %s is rejected by STS, and the error omits STS's code", async (_name, fields, code) => {
    const answer = await login({ role: 'bob', ...fields() })
    expect([answer.status, errorsOf(answer)]).toEqual([400, NOT_ACCEPTED])
    expect(answer.text).not.toContain(code)
  })

  test('a temporary key without its session token is rejected without a call to STS', async () => {
    const answer = await login({ role: 'bob', ...signedBy({ ...worker, sessionToken: '' }) })
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      'iam_request_headers: the request is signed with a temporary key, but has no X-Amz-Security-Token; sign the request with the session token (AWS_SESSION_TOKEN) too',
    ])
  })

  test('an expired session is rejected', async () => {
    const key = await aws.session({ account, role: 'Worker', session: 'short', ttlSeconds: 0 })
    const answer = await loginWith(mount, key, { role: 'worker' })
    expect([answer.status, errorsOf(answer)]).toEqual([400, NOT_ACCEPTED])
  })

  test('the root user of an account is rejected', async () => {
    const answer = await loginWith(mount, await aws.rootKey({ account }), { role: 'bob' })
    expect([answer.status, errorsOf(answer)]).toEqual([400, 'only IAM users and assumed roles can log in'])
  })

  test("a role of type ec2 is rejected, and so is a client address outside the role's CIDRs", async () => {
    await done('POST', `${mount}/role/machine`, { auth_type: 'ec2', bound_account_id: account })
    expect(errorsOf(await loginWith(mount, bob, { role: 'machine' }))).toBe(
      'iam login is not allowed for role "machine"',
    )
    const role = fresh('r')
    const arn = `arn:aws:iam::${account}:user/team/Bob`
    await done('POST', `${mount}/role/${role}`, {
      bound_iam_principal_arn: arn,
      token_bound_cidrs: '10.0.0.0/8',
    })
    const answer = await loginWith(mount, bob, { role })
    expect([answer.status, errorsOf(answer)]).toEqual([403, 'permission denied'])
  })

  /** Returns the last GetCallerIdentity request that reached STS with a key. */
  const forwarded = async (key: TestKey) =>
    (await aws.calls()).calls.findLast(
      call => call.action === 'GetCallerIdentity' && JSON.stringify(call).includes(key.accessKeyId),
    )

  test("STS receives only signed and required headers, never the client's token (CVE-2026-4525)", async () => {
    const user = await aws.putUser({ account, name: fresh('u') })
    const key = await aws.createAccessKey({ account, user: user.name })
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, { bound_iam_principal_arn: user.arn })
    const request = signCallerIdentity(key, { headers: [['X-Signed', 'yes']] })
    const extra: [string, string][] = [
      ['X-Unsigned', 'no'],
      ['Cookie', 'no'],
      ['X-Forwarded-For', 'no'],
      ['Transfer-Encoding', 'no'],
      ['Connection', 'no'],
      ['Accept', 'application/json'],
    ]
    const fields = iamFields({ ...request, headers: [...request.headers, ...extra] })
    const headers = { authorization: 'Bearer hvs.callers-own-token' }
    const answer = await api('POST', `${mount}/login`, { role, ...fields }, { token: '', headers })
    expect(answer.status, answer.text).toBe(200)
    const sent = await forwarded(key)
    expect(Object.keys(sent?.headers ?? {}).sort()).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      // names the intended host for the imitated AWS; real AWS never receives this header
      'forwarded',
      'host',
      'x-amz-date',
      'x-signed',
    ])
    expect(sent?.headers).toMatchObject({
      accept: 'application/xml',
      'accept-encoding': 'identity',
      connection: 'keep-alive',
    })
    expect(JSON.stringify(sent)).not.toContain('hvs.')
  })
})
