import { METHODS } from 'node:http'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  errorsOf,
  HOME,
  launch,
  pkcs7Of,
  signedBy,
  UNPROVEN,
  unregistered,
} from '../../support/requests/logins.ts'
import { api, aws, done, freshAccount, freshMount, localCertificate } from '../../support/service/cluster.ts'
import { loginsByWebFunction } from '../../support/service/login-front.ts'

const SECRET = 'SECRET-VALUE'

describe('hostile login bodies: CVE-2025-6203, HCSEC-2025-24, CVE-2025-59043, CVE-2025-12044, CVE-2023-6337', () => {
  let mount = ''
  let valid: Record<string, unknown> = {}
  let signed: Record<string, unknown> = {}
  const login = (body: unknown, headers: Record<string, string> = {}) =>
    api('POST', `${mount}/login`, body, { token: '', headers })

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${mount}/role/web`, { auth_type: 'ec2', bound_account_id: HOME.account })
    valid = { pkcs7: await pkcs7Of(await launch()) }
    const account = freshAccount()
    const { arn } = await aws.putUser({ account, name: 'bob' })
    await done('POST', `${mount}/role/app`, { bound_iam_principal_arn: arn, resolve_aws_unique_ids: false })
    signed = signedBy(await aws.createAccessKey({ account, user: 'bob' }))
  })

  const wrong: [string, unknown][] = [
    ['an object', { a: SECRET }],
    ['a list', [SECRET]],
    ['a list of objects', [{ a: SECRET }]],
  ]
  test.each(
    ['role', 'pkcs7', 'identity', 'signature', 'nonce', 'iam_http_request_method', 'iam_request_url'].flatMap(
      field => wrong.map(([name, value]) => [field, name, value] as const),
    ),
  )('%s as %s is rejected, and the error does not repeat the value', async (field, _name, value) => {
    const answer = await login({ ...valid, role: 'web', [field]: value })
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toContain(field)
    expect(answer.text).not.toContain(SECRET)
  })

  const long = 'x'.repeat(5000)
  test.each([
    ['long', long],
    ['with a control character', 'a\u0000b'],
    ['with characters outside the basic plane', '\u{1f600}'.repeat(400)],
    ['with a lone surrogate', '\ud800'],
    ['with slashes', 'a/../../web'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['with a line end', 'web\n'],
  ])('a role name that is %s is rejected', async (_name, role) => {
    for (const proof of [valid, signed]) {
      const answer = await login({ ...proof, role })
      expect(answer.status, answer.text).toBe(400)
    }
  })

  test.each([
    ['a repeated key', '{"role":"web","role":"app","pkcs7":"x"}'],
    ['malformed JSON', '{"role":'],
    ['a list', '[]'],
    ['a string', '"x"'],
    ['null', 'null'],
    ['10,000 levels of nesting', `{"role":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['20,000 values', `{"role":[${'1,'.repeat(20_000)}1]}`],
    ['20,000 keys', `{${Array.from({ length: 10_001 }, (_, n) => `"k${n}":1`).join()}}`],
    ['a __proto__ key', '{"__proto__":{"pkcs7":"x"}}'],
  ])('a body that is or has %s is rejected', async (_name, body) => {
    const answer = await login(body)
    expect([400, 413]).toContain(answer.status)
    expect(Object.keys(answer.body)).toEqual(['errors'])
  })

  test.each([
    ['more than 64 KiB', () => JSON.stringify({ padding: 'x'.repeat(65_536) })],
    ['10 MB', () => JSON.stringify({ ...valid, padding: 'x'.repeat(10_000_000) })],
    ['a million keys', () => `{${Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":1`).join()}}`],
    ['a million levels', () => `{"role":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`],
    ['10,000 headers', () => JSON.stringify({ iam_request_headers: manyHeaders(10_000) })],
  ])('a body of %s is rejected before the body is parsed', async (_name, body) => {
    expect((await login(body())).status).toBe(413)
  })
  const manyHeaders = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`X-Header-${n}`, 'x']))

  test('a form body works like JSON, and so does JSON with the content type of a form', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const fields = { role: 'web', nonce: 'n', pkcs7: String(valid['pkcs7']) }
    expect((await login(new URLSearchParams(fields).toString(), headers)).status).toBe(200)
    expect((await login(JSON.stringify(fields), headers)).status).toBe(200)
  })

  test('unknown fields are ignored with a warning', async () => {
    const fields = { role: 'web', nonce: 'n', ...valid, operation: 'renew', policies: ['root'], mount: 'x' }
    const { body } = await done('POST', `${mount}/login`, fields)
    expect(body.auth.policies).toEqual(['default'])
    expect(body.warnings.join()).toMatch(/operation/)
  })

  test.each([
    ['an unknown mount', '/auth/nothing-is-here/login'],
    ['the token store', '/auth/token/login'],
  ])(
    'a login at %s is rejected like one at a mount without configuration (CVE-2020-25594)',
    async (_name, path) => {
      const answer = await api('POST', path, valid, { token: '' })
      expect([answer.status, errorsOf(answer)]).toEqual([400, UNPROVEN + unregistered('pkcs7')])
    },
  )

  test.each(['resolve-role', 'alias-lookahead', 'renew', 'rollback', 'RENEW', 'TRACE'])(
    'a login with the verb %s creates no token (GHSA-rh46-vc3j-w2w3)',
    async verb => {
      const proof = { ...valid, role: 'web', nonce: 'n' }
      // Node's parser rejects unknown verbs before a Web Function sees them
      const unparsed =
        loginsByWebFunction() && !METHODS.includes(verb)
          ? [400, 'this is not an HTTP/1.1 request']
          : undefined
      const anonymous = await api(verb, `${mount}/login`, proof, { token: '' })
      expect([anonymous.status, errorsOf(anonymous)]).toEqual(unparsed ?? [403, 'permission denied'])
      const known = await api(verb, `${mount}/login`, proof)
      expect([known.status, errorsOf(known)]).toEqual(unparsed ?? [405, 'unsupported operation'])
    },
  )

  const headers = (value: unknown) => ({ ...signed, role: 'app', iam_request_headers: value })
  const own = () => signed['iam_request_headers'] as Record<string, string>
  test.each([
    ['a line end in a value', () => ({ ...own(), 'X-Amz-User-Agent': 'a\r\nX-Evil: 1' })],
    ['a NUL in a value', () => ({ ...own(), 'X-Amz-User-Agent': 'a\u0000' })],
    ['a non-ASCII letter', () => ({ ...own(), 'X-Amz-User-Agent': 'ü' })],
    ['a line end in a name', () => ({ ...own(), 'X-Amz-User-Agent\r\nX': 'a' })],
    ['an empty name', () => ({ ...own(), '': 'a' })],
    ['an object as value', () => ({ ...own(), a: { b: 'c' } })],
    ['null as value', () => ({ ...own(), a: null })],
    ['a boolean as value', () => ({ ...own(), a: true })],
    ['1000 names', () => ({ ...own(), ...manyHeaders(1000) })],
    ['101 values', () => ({ ...own(), a: Array(101).fill('b') })],
    ['17 KiB', () => ({ ...own(), a: 'b'.repeat(17_000) })],
    ['nothing', () => ({})],
    ['an empty list', () => []],
    ['lines without a colon', () => ['Authorization']],
    ['a number', () => 7],
    ['base64 of a list', () => Buffer.from('[1]').toString('base64')],
    ['words', () => 'Authorization: x'],
    ['null', () => null],
  ])('iam_request_headers with %s are rejected', async (_name, value) => {
    const answer = await login(headers(value()))
    expect(answer.status, answer.text).toBe(400)
    expect(errorsOf(answer)).toMatch(/iam_request_headers|required authentication values/)
  })
})
