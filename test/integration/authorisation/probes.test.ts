import { beforeAll, describe, expect, test } from 'vitest'
import type { TestKey } from '../../provider/hand-signer.ts'
import {
  callWatch,
  NOT_ACCEPTED,
  noMessage,
  signedBy,
  UNPROVEN,
  unregistered,
} from '../../support/requests/logins.ts'
import { api, aws, done, fresh, freshAccount, freshMount } from '../../support/service/cluster.ts'
import older from '../../vectors/identity-documents/us-west-1-2017.json' with { type: 'json' }
import newer from '../../vectors/identity-documents/us-west-1-2021.json' with { type: 'json' }

/** Returns an answer without its request ID. */
async function told(path: string, body: unknown, more: Parameters<typeof api>[3] = {}, method = 'POST') {
  const reply = await api(method, path, body, { token: '', ...more })
  return { status: reply.status, text: reply.text, code: reply.headers['x-error-code'] }
}

const nobody: TestKey = { accessKeyId: 'AKIA0000000000000000', secretAccessKey: 'x' }
const iam = () => signedBy(nobody)
const changed = Buffer.from(newer.rsa2048, 'base64')
changed[changed.length - 40] = 0
const identity = { identity: Buffer.from(older.document).toString('base64'), signature: older.signature }
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('a login gets the same answer at a missing mount and at a mount without configuration', () => {
  let bare = ''
  beforeAll(async () => {
    ;({ path: bare } = await freshMount())
  })
  const missing = `/auth/${fresh('no')}`

  const LONG_AGO =
    'by the server’s clock the request was signed more than a day ago, and STS takes 15 minutes'
  const REQUIRED =
    'required authentication values are missing: give pkcs7, or identity and signature, or iam_http_request_method, ' +
    'iam_request_url, iam_request_headers, iam_request_body (no body with GET)'
  const rows: [string, () => unknown, string][] = [
    ['nothing', () => ({}), REQUIRED],
    ['no body', () => undefined, REQUIRED],
    ['only a role', () => ({ role: 'x' }), REQUIRED],
    ['malformed JSON', () => '{', 'the body is not valid JSON'],
    ['a list', () => [], ''],
    ['a repeated key', () => '{"role":"a","role":"b"}', ''],
    ['an oversized body', () => ({ role: 'x'.repeat(70_000) }), ''],
    ['a parameter of the wrong type', () => ({ role: {} }), ''],
    ['unknown parameters', () => ({ colour: 'red' }), REQUIRED],
    [
      'fields of both login types',
      () => ({ ...iam(), pkcs7: 'x' }),
      'values for both the ec2 and the iam type were given',
    ],
    ['an empty pkcs7', () => ({ pkcs7: '' }), 'give pkcs7, or both identity and signature'],
    ['an identity that is not base64', () => ({ identity: '%', signature: '' }), 'identity must be base64'],
    ['an empty pkcs7 message', () => ({ pkcs7: 'MIAG' }), noMessage('is cut off')],
    [
      'a forged document',
      () => ({ role: 'x', pkcs7: changed.toString('base64') }),
      UNPROVEN + unregistered('pkcs7'),
    ],
    ['a document with SHA-1', () => ({ pkcs7: older.pkcs7 }), UNPROVEN],
    ['a document signed by an untrusted key', () => identity, UNPROVEN + unregistered('identity')],
    [
      'a document signed by AWS, with a role',
      () => ({ role: 'x', pkcs7: newer.rsa2048 }),
      'no role named "x"',
    ],
    [
      'a document signed by AWS, without a role',
      () => ({ pkcs7: newer.rsa2048 }),
      `no role named "${newer.imageId}"`,
    ],
    ['an iam request with another verb', () => ({ ...iam(), iam_http_request_method: 'PUT' }), ''],
    [
      'an iam request to a host of the attacker',
      () => ({ ...iam(), iam_request_url: base64('https://example.com/') }),
      '',
    ],
    [
      'an iam request with another action',
      () => signedBy(nobody, { body: 'Action=GetSessionToken&Version=2011-06-15' }),
      '',
    ],
    [
      'an iam request with a header that is not allowed',
      () => signedBy(nobody, { headers: [['X-Amz-Other', 'x']] }),
      '',
    ],
    ['an iam request without headers', () => ({ ...iam(), iam_request_headers: {} }), ''],
    ['an iam request with unknown credentials', iam, NOT_ACCEPTED],
    ['an iam request with unknown credentials, and a role', () => ({ role: 'x', ...iam() }), NOT_ACCEPTED],
    ['a presigned request with unknown credentials', () => signedBy(nobody, { method: 'GET' }), NOT_ACCEPTED],
    ['an iam request signed long ago', () => signedBy(nobody, { at: 0 }), `${NOT_ACCEPTED}; ${LONG_AGO}`],
    [
      'an iam request without a signature',
      () => ({ ...iam(), iam_request_headers: { Host: 'sts.amazonaws.com' } }),
      '',
    ],
  ]
  test.each(rows)('for %s', async (_, body, text) => {
    const given = body()
    const found = await told(`${missing}/login`, given)
    expect(found).toEqual(await told(`${bare}/login`, given))
    expect(found.status).toBeGreaterThanOrEqual(400)
    if (text !== '') expect(JSON.parse(found.text)).toEqual({ errors: [text] })
  })

  test.each<[string, Record<string, string>]>([
    ['a token', { 'x-vault-token': 'hvs.x' }],
    ['a bearer token', { authorization: 'Bearer hvs.x' }],
    ['a wrap TTL', { 'x-vault-wrap-ttl': '60' }],
    ['another namespace', { 'x-vault-namespace': 'a' }],
    ['a form content type', { 'content-type': 'application/x-www-form-urlencoded' }],
  ])('for a request with %s', async (_, headers) => {
    for (const body of [{}, iam(), { pkcs7: newer.rsa2048 }])
      expect(await told(`${missing}/login`, body, { headers })).toEqual(
        await told(`${bare}/login`, body, { headers }),
      )
  })

  test('for other verbs and paths', async () => {
    for (const method of ['GET', 'HEAD', 'LIST', 'DELETE', 'PATCH', 'PUT', 'OPTIONS'])
      for (const path of ['/login', '/login/', '/login/x', '/role/x', '/config/client', '/', ''])
        expect(await told(missing + path, undefined, {}, method), `${method} ${path}`).toEqual(
          await told(bare + path, undefined, {}, method),
        )
  })

  test('a login at a missing mount calls no AWS service, even with a valid proof', async () => {
    const account = freshAccount()
    await aws.putUser({ account, name: 'bob' })
    const key = await aws.createAccessKey({ account, user: 'bob' })
    const watch = callWatch()
    await watch()
    expect(await told(`${missing}/login`, signedBy(key))).toMatchObject({ status: 400 })
    const calls = await watch()
    expect(calls.filter(call => call.account === account)).toEqual([])
    // a client that has proved its identity may see the difference between a missing and an existing role
    const found = await told(`${bare}/login`, signedBy(key))
    expect(JSON.parse(found.text)).toEqual({ errors: ['no role named "bob"'] })
  })

  test('a disabled mount answers like a missing mount at once, and a new mount at the same path works', async () => {
    const { path } = await freshMount()
    const body = { role: 'x', pkcs7: newer.rsa2048 }
    await done('POST', `${path}/role/x`, { auth_type: 'ec2', bound_account_id: '1'.repeat(12) })
    const there = await told(`${path}/login`, body)
    expect(there.text).toContain('instance does not satisfy role')
    await done('DELETE', path.replace('/auth', '/sys/auth'))
    expect(await told(`${path}/login`, body)).toEqual(await told(`${missing}/login`, body))
    await done('POST', path.replace('/auth', '/sys/auth'), { type: 'cloud' })
    expect((await told(`${path}/login`, body)).text).toContain('no role named')
  })
})
