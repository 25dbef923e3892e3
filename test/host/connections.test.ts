import { beforeAll, describe, expect, test } from 'vitest'
import { iamRole } from '../support/requests/things.ts'
import { api, aws, cluster, done, fresh, freshMount } from '../support/service/cluster.ts'
import { conversation, raw } from '../support/service/raw.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  await done('POST', `${mount}/role/one`, iamRole.body)
})

const token = `X-Vault-Token: ${cluster.root_token}`
const request = (line: string, ...headers: string[]) =>
  [line, 'Host: x', token, ...headers, '', ''].join('\r\n')
const statuses = (answers: string) => answers.match(/(?<=HTTP\/1\.1 )\d+/g)?.map(Number)

describe('raw requests', () => {
  test('LIST is accepted in pieces of one byte', async () => {
    const text = request(`LIST /v1${mount}/roles HTTP/1.1`, 'Connection: close')
    const answers = await conversation(...text)
    expect(statuses(answers)).toEqual([200])
    expect(answers).toContain('"keys":["one"]')
  })

  test('a body that looks like a request is read as a body', async () => {
    const body = JSON.stringify({ token_policies: 'LIST', x: 'LIST / HTTP/1.1\r\n\r\n' })
    const answers = await conversation(
      request(`POST /v1${mount}/role/one HTTP/1.1`, `Content-Length: ${body.length}`) + body,
      request(`LIST /v1${mount}/roles HTTP/1.1`, 'Connection: close'),
    )
    // 200 instead of 204, because of the warning about the unknown field `x`
    expect(statuses(answers)).toEqual([200, 200])
    expect((await done('GET', `${mount}/role/one`)).body.data.token_policies).toEqual(['LIST'])
  })

  test('chunks with extensions and trailers are read, and the next request on the connection too', async () => {
    const answers = await conversation(
      request(`POST /v1${mount}/role/one HTTP/1.1`, 'Transfer-Encoding: chunked'),
      '9;ext=1\r\n{"token_t\r\n7\r\ntl":77}\r\n0\r\nX-Trailer: LIST\r\n\r\n',
      request(`LIST /v1${mount}/roles HTTP/1.1`, 'Connection: close'),
    )
    expect(statuses(answers)).toEqual([204, 200])
    expect((await done('GET', `${mount}/role/one`)).body.data.token_ttl).toBe(77)
  })

  test('a client that sends Expect: 100-continue gets 100', async () => {
    const answers = await conversation(
      request(
        `POST /v1${mount}/role/one HTTP/1.1`,
        'Expect: 100-continue',
        'Content-Length: 2',
        'Connection: close',
      ),
      '{}',
    )
    expect(statuses(answers)).toEqual([100, 204])
  })

  const malformed: [title: string, lines: string[], body: string][] = [
    ['two lengths', ['Content-Length: 2', 'Content-Length: 3'], '{} '],
    ['both a length and chunks', ['Content-Length: 2', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['a negative length', ['Content-Length: -1'], ''],
    ['a chunk with an invalid length', ['Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a header without a name', [': x'], ''],
    ['a folded header', ['X-A: b', ' c'], ''],
    ['a header with a bare line feed', ['X-A: b\nX-B'], ''],
    ['more than 12 KiB of headers', [`X-A: ${'a'.repeat(13_000)}`], ''],
  ]
  test.each(malformed)('a request with %s is rejected', async (_, lines, body) => {
    const { status, text } = await raw([`POST /v1${mount}/role/one HTTP/1.1`, token, ...lines], body)
    expect(status, text).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
  })
})

describe("the client's bearer token: CVE-2026-4525", () => {
  test('is not sent to AWS', async () => {
    const name = fresh('app')
    await aws.putRole({ account: '111122223333', name })
    const bearer = { token: '', headers: { Authorization: `Bearer ${cluster.root_token}` } }
    const bound_iam_principal_arn = `arn:aws:iam::111122223333:role/${name}`
    const { status, text } = await api(
      'POST',
      `${mount}/role/${fresh('r')}`,
      { bound_iam_principal_arn },
      bearer,
    )
    expect(status, text).toBe(204)
    const { calls } = await aws.calls({ since: 0 })
    expect(calls.some(call => call.body.includes(name))).toBe(true)
    expect(JSON.stringify(calls)).not.toContain(cluster.root_token)
  })
})
