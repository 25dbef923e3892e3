import { beforeAll, describe, expect, test } from 'vitest'
import { iamRole } from '../support/requests/things.ts'
import { api, cluster, done, fresh, freshMount } from '../support/service/cluster.ts'
import { conversation, raw } from '../support/service/raw.ts'
import { isBalanced } from '../support/service/which-front.ts'

const arn = 'arn:aws:iam::111122223333:role/app*'
const json = JSON.stringify({ bound_iam_principal_arn: arn, token_ttl: 60 })
const form = { 'content-type': 'application/x-www-form-urlencoded' }

let mount = ''
const fill = () => `${mount}/role/${fresh('r')}`
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

/** Writes a role with this raw body, and returns the answer and the stored role. */
async function written(body: string, headers: Record<string, string> = {}) {
  const path = fill()
  const { status, text } = await api('POST', path, body, { headers })
  const { body: stored } = await api('GET', path)
  return { status, text, stored: stored.data }
}

describe('accepted bodies', () => {
  const asForm = new URLSearchParams({ bound_iam_principal_arn: arn, token_ttl: '60' }).toString()
  const rows: [title: string, body: string, headers: Record<string, string>][] = [
    ['no content type', json, {}],
    ['application/json', json, { 'content-type': 'application/json' }],
    ['a content type with a charset', json, { 'content-type': 'application/json; charset=utf-8' }],
    ['text/plain', json, { 'content-type': 'text/plain' }],
    ['application/octet-stream', json, { 'content-type': 'application/octet-stream' }],
    ['nonsense', json, { 'content-type': 'x' }],
    ['JSON with the content type of a form', json, form],
    ['white space around the JSON', `\r\n\t ${json} \n`, form],
    ['a form', asForm, form],
    ['a form with a charset', asForm, { 'content-type': `${form['content-type']}; charset=UTF-8` }],
    ['a repeated key, of which the last counts', `{"token_ttl":1,${json.slice(1)}`, {}],
    ['a byte order mark before the JSON', `\ufeff${json}`, {}],
  ]
  /** Bodies with a field that the endpoint does not know. */
  const unknown: [title: string, body: string, headers: Record<string, string>][] = [
    [
      'names of built-in object properties',
      `{"__proto__":{"token_ttl":5},"constructor":1,"toString":2,${json.slice(1)}`,
      {},
    ],
    ['nesting at the limit', `{"x":${'['.repeat(63)}${']'.repeat(63)},${json.slice(1)}`, {}],
    ['10 000 elements', `{"x":[0${',0'.repeat(9999)}],${json.slice(1)}`, {}],
    ['1 MiB', json.replace('{', `{"x":"${'y'.repeat(1024 * 1024 - json.length - 7)}",`), {}],
  ]
  test.each(rows)('%s', async (_, body, headers) => {
    const { status, text, stored } = await written(body, headers)
    expect(status, text).toBe(204)
    expect(stored).toMatchObject({ bound_iam_principal_arn: [arn], token_ttl: 60 })
  })

  test.each(unknown)('%s, with a warning about the unknown field', async (_, body, headers) => {
    const { status, text, stored } = await written(body, headers)
    expect(status, text).toBe(200)
    expect(JSON.parse(text)).toMatchObject({
      data: null,
      warnings: [expect.stringContaining('unknown parameters were ignored')],
    })
    expect(stored).toMatchObject({ bound_iam_principal_arn: [arn], token_ttl: 60 })
  })

  test('a repeated key in a form is a list', async () => {
    const body = `bound_iam_principal_arn=${arn}&token_policies=a&token_policies=b`
    expect((await written(body, form)).stored.token_policies).toEqual(['a', 'b'])
  })

  test('no body, an empty body and null count as an empty object', async () => {
    await done('POST', `${mount}/role/one`, iamRole.body)
    for (const body of [undefined, '', '  \n', '{}', '{ }', 'null', ' null\n'])
      expect((await api('POST', `${mount}/role/one`, body)).status).toBe(204)
  })

  test('invalid UTF-8 and lone surrogates are never stored', async () => {
    const path = `${mount}/config/sts/444455556666`
    const token = `X-Vault-Token: ${cluster.root_token}`
    const post = (body: Buffer) =>
      raw([`POST /v1${path} HTTP/1.1`, token, `Content-Length: ${body.length}`], body)
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      const text = '{"sts_role":"arn:aws:iam::444455556666:role/cloud-auth-x","external_id":"#"}'
      const [before, after] = text.split('#').map(part => Buffer.from(part))
      const body = Buffer.concat([before as Buffer, Buffer.from(bytes), after as Buffer])
      expect((await post(body)).status).toBeLessThan(500)
    }
    for (const half of ['\\ud800', '\\uDFFF', 'a\\ud83d', '\\ude00\\ud83d'])
      expect((await api('POST', path, `{"sts_role":"x","external_id":"${half}"}`)).status, half).toBe(400)
    await done('POST', path, '{"external_id":"\\ud83d\\ude00 \\\\ud800"}')
    expect((await api('GET', path)).body.data.external_id).toBe('\u{1f600} \\ud800')
  })
})

describe('rejected bodies', () => {
  const SECRET = 'hidden-value'
  const malformed = [
    '{',
    `{"token_ttl":"${SECRET}"`,
    `{"token_ttl":${SECRET}}`,
    `{"token_ttl":"${SECRET}",}`,
    `{'token_ttl':'${SECRET}'}`,
    `{"token_ttl":1} {"x":"${SECRET}"}`,
    `{"x":"${SECRET}\n"}`,
    '{"x":01}',
    '{"x":NaN}',
    '{"x":"\\u12"}',
    'token_ttl=5',
    '}{',
    `{"x":"${SECRET}`,
  ]
  test.each(malformed)('malformed JSON: %s', async body => {
    const { status, text, stored } = await written(body)
    expect([status, text]).toEqual([400, '{"errors":["the body is not valid JSON"]}'])
    expect(stored).toBeUndefined()
  })

  test.each(['[]', '[{}]', '"text"', '7', 'true', '[null]'])('JSON other than an object: %s', async body => {
    const { status, text } = await written(body)
    expect([status, text]).toEqual([400, '{"errors":["the body must be a JSON object"]}'])
  })

  const complex: [title: string, body: string][] = [
    ['one level over the nesting limit', `{"x":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['very deep nesting', `{"x":${'['.repeat(400_000)}`],
    ['very deep nesting of objects', `${'{"x":'.repeat(150_000)}`],
    ['10 001 elements', `{"x":[0${',0'.repeat(10_000)}]}`],
    ['10 001 keys', `{"x0":0${Array.from({ length: 10_000 }, (_, index) => `,"y${index}":0`).join('')}}`],
    [
      '100 001 values',
      `{"x":[${Array(12)
        .fill(`[0${',0'.repeat(9_000)}]`)
        .join()}]}`,
    ],
  ]
  test.each(complex)('%s', async (_, body) => {
    const { status, text } = await written(body)
    expect([status, text]).toEqual([
      400,
      '{"errors":["the body is nested too deeply or holds too many values"]}',
    ])
  })

  test('a repeated key, at the login only', async () => {
    const body = '{"role":"a","iam_request_headers":{"a":1,"\\u0061":2}}'
    const { status, text } = await api('POST', `${mount}/login`, body, { token: '' })
    expect([status, text]).toEqual([400, '{"errors":["the body names a key twice"]}'])
  })
})

describe('the size limit of bodies', () => {
  const filler = (bytes: number) => `{"x":"${'é'.repeat((bytes - 8) / 2)}"}`
  const MIB = 1024 * 1024

  test.each([
    ['/role/x', MIB],
    ['/config/client', MIB],
    ['/login', 64 * 1024],
  ])('%s accepts %i bytes, and rejects two more', async (path, limit) => {
    expect((await api('POST', mount + path, filler(limit))).status).not.toBe(413)
    const { status, text } = await api('POST', mount + path, filler(limit + 2))
    const ours = '{"errors":["the body is too large"]}'
    expect([status, text]).toEqual([413, isBalanced() && limit === MIB ? expect.any(String) : ours])
  })

  test.each([10 * MIB, 10 * MIB + 2, 12 * MIB])('a body of %i bytes is rejected', async bytes => {
    const { status } = await api('POST', `${mount}/role/x`, filler(bytes))
    expect(status).toBe(413)
  })

  test('chunks over the limit are rejected, and the connection stays open', async () => {
    const chunk = `10000\r\n${'y'.repeat(65_536)}\r\n`
    const answers = await conversation(
      `POST /v1${mount}/role/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`,
      `${chunk.repeat(161)}0\r\n\r\n`,
      'GET /v1/sys/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  })

  test('an item too large to store is rejected, and nothing is stored', async () => {
    const path = fill()
    const token_policies = Array.from({ length: 9_000 }, (_, index) => `${'p'.repeat(60)}${index}`)
    const { status, body } = await api('POST', path, { bound_iam_principal_arn: arn, token_policies })
    expect([status, body.errors]).toEqual([413, ['the item is too large to be stored']])
    expect((await api('GET', path)).status).toBe(404)
  })
})
