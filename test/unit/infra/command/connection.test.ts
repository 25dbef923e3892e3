import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { requestUntilAccepted, retryDelay, sendRequest } from '../../../../infra/command/ask.ts'
import { type ApiConnection, parseApiBase, readApiConnection } from '../../../../infra/command/connection.ts'
import { createLocalAuthority } from '../../../../infra/local/gateway/tls.ts'
import { closeServer, listenOnLoopback } from '../../../../infra/local/os/loopback.ts'
import { makeTemporaryDirectory } from '../../../../infra/local/os/temporary.ts'
import { closedPort, webServer } from '../../../support/service/server.ts'

const folder = makeTemporaryDirectory()
afterAll(() => rmSync(folder, { recursive: true }))
const plain: ApiConnection = { timeoutMs: 5000 }

describe('an address', () => {
  test.each([
    ['https://auth.example.com', 'https://auth.example.com/v1'],
    ['https://auth.example.com/', 'https://auth.example.com/v1'],
    ['https://auth.example.com/v1/', 'https://auth.example.com/v1'],
    ['http://127.0.0.1:8200/behind/v1', 'http://127.0.0.1:8200/behind/v1'],
  ])('%s', (address, base) => expect(parseApiBase(address)).toBe(base))

  test.each(['auth.example.com', 'unix:///run/vault', 'https://a?x', 'https://u:p@a', ''])(
    'the address %j is rejected',
    address => expect(() => parseApiBase(address)).toThrow(/must be a URL such as/),
  )

  test('a password in an address is not repeated in the error', () =>
    expect(() => parseApiBase('https://u:geheim@a')).toThrow(expect.not.stringContaining('geheim')))
})

describe('the variables of vault and bao', () => {
  test('VAULT_ and BAO_ variables set CA certificates, server name and timeout', () => {
    writeFileSync(`${folder}/one.pem`, 'ONE')
    const environment = {
      VAULT_CACERT: `${folder}/one.pem`,
      VAULT_NAMESPACE: 'v',
      BAO_NAMESPACE: 'b',
      VAULT_TLS_SERVER_NAME: 'auth',
      VAULT_CLIENT_TIMEOUT: '1m30s',
    }
    const expected = { ca: ['ONE'], namespace: 'b', servername: 'auth', timeoutMs: 90_000 }
    expect(readApiConnection(environment)).toEqual(expected)
    expect(readApiConnection(environment, 'option')).toEqual({ ...expected, namespace: 'option' })
    expect(readApiConnection({})).toEqual({ timeoutMs: 60_000 })
  })

  test('CAPATH is used if CACERT is not set', () => {
    const path = `${folder}/authorities`
    mkdirSync(path)
    writeFileSync(`${path}/a.pem`, 'A')
    expect(readApiConnection({ VAULT_CAPATH: path }).ca).toEqual(['A'])
    expect(readApiConnection({ VAULT_CAPATH: path, VAULT_CACERT_BYTES: 'B' }).ca).toEqual(['B'])
  })

  test.each([
    [{ VAULT_SKIP_VERIFY: 'true' }, /VAULT_SKIP_VERIFY is not supported/],
    [{ VAULT_CACERT: '/nowhere.pem' }, /VAULT_CACERT: \/nowhere\.pem cannot be read \(ENOENT\)/],
    [{ VAULT_CLIENT_CERT: '/nowhere.pem' }, /needs the key of the certificate/],
    [{ VAULT_CLIENT_TIMEOUT: 'soon' }, /must be a duration/],
  ])('%j is rejected', (environment, text) => expect(() => readApiConnection(environment)).toThrow(text))
})

describe('a request of the command cloud-auth', () => {
  test('the command sends token, namespace and body, and returns the answer', async () => {
    const { url, requests } = await webServer(onTestFinished, (_, response) => {
      response.writeHead(400).end('{"errors":["no","never"]}')
    })
    const asking = { method: 'POST', body: { role: 'app' }, token: 't' } as const
    const heard = await sendRequest(`${url}/v1`, 'auth/aws/login', asking, { ...plain, namespace: 'team' })
    expect(heard).toMatchObject({ status: 400, body: { errors: ['no', 'never'] } })
    expect(requests[0]).toMatchObject({
      method: 'POST',
      url: '/v1/auth/aws/login',
      headers: { 'x-vault-token': 't', 'x-vault-namespace': 'team', connection: 'close' },
    })
  })

  test('the command repeats a request after Retry-After until it succeeds', async () => {
    let asked = 0
    const { url } = await webServer(onTestFinished, (_, response) => {
      asked += 1
      if (asked === 1) response.writeHead(503, { 'retry-after': '0' }).end('{"errors":["busy"]}')
      else response.end('{"data":{}}')
    })
    const said: string[] = []
    const patience = { timeoutMs: 5000, say: (text: string) => said.push(text), label: 'x' }
    const asking = () => sendRequest(url, 'x', {}, plain)
    expect(await requestUntilAccepted(asking, patience)).toEqual({ data: {} })
    expect(said).toEqual(['x: 503 busy; retrying in 1 s'])
    asked = 0
    await expect(requestUntilAccepted(asking, { ...patience, timeoutMs: -1 })).rejects.toThrow('x: 503 busy')
  })

  test.each([
    ['503 with Retry-After', { status: 503, retryAfter: 7, body: { errors: ['busy'] } }, 7],
    ['503 of the gateway', { status: 503, body: { message: 'Service Unavailable' } }, 5],
    ['504 of the gateway', { status: 504, body: { message: 'Endpoint request timed out' } }, 5],
    ['503 of the cluster without Retry-After', { status: 503, body: { errors: ['sealed'] } }, undefined],
    ['403 of the gateway', { status: 403, body: { message: 'Forbidden' } }, undefined],
  ])('the command repeats a request answered with %s after %j: %s s', (_, heard, seconds) => {
    expect(retryDelay({ text: '', ...heard })).toBe(seconds)
  })

  test.each([
    ['0', 1],
    ['-5', 1],
    ['7', 7],
    ['999999999999', 60],
    [new Date(Date.now() + 3_600_000).toUTCString(), 60],
    [new Date(Date.now() - 3_600_000).toUTCString(), 1],
    ['soon', undefined],
    ['', undefined],
  ])('the command reads Retry-After %j as %s s', async (header, seconds) => {
    const { url } = await webServer(onTestFinished, (_, response) =>
      response.writeHead(503, { 'retry-after': header }).end(),
    )
    expect((await sendRequest(url, 'x', {}, plain)).retryAfter).toBe(seconds)
  })

  test('the command follows one redirect within its origin', async () => {
    const { url, requests } = await webServer(onTestFinished, ({ url: path }, response) => {
      if (path === '/v1/here') response.end('{"data":{"here":true}}')
      else response.writeHead(307, { location: path === '/v1/x' ? '/v1/here' : '/v1/x' }).end()
    })
    const asking = { method: 'POST', body: {}, token: 't' } as const
    expect((await sendRequest(`${url}/v1`, 'x', asking, plain)).body).toEqual({ data: { here: true } })
    expect(requests.at(-1)).toMatchObject({ method: 'POST', headers: { 'x-vault-token': 't' } })
    expect((await sendRequest(`${url}/v1`, 'twice', asking, plain)).status).toBe(307)
  })

  test.each([
    [
      'another address',
      (other: string) => `${other}/v1/x`,
      /redirects to http:.*, but cloud-auth follows no redirects/,
    ],
    ['no address', () => 'http://[', /redirects to http:\/\/\[, but cloud-auth follows no redirects/],
    ['a terminal', () => 'http://\x9b2J', /but cloud-auth follows no redirects/],
  ])('the command never follows a redirect to %s', async (_, location, text) => {
    const other = await webServer(onTestFinished, (_, response) => response.end('{}'))
    const standby = await webServer(onTestFinished, (_, response) => {
      response.writeHead(307, { location: location(other.url) }).end()
    })
    const asking = { method: 'POST', body: {}, token: 't' } as const
    const refusal = await sendRequest(`${standby.url}/v1`, 'x', asking, plain).catch(error => error)
    expect(refusal).toMatchObject({ exit: 'refused', message: expect.stringMatching(text) })
    expect(refusal.message).toMatch(/^[\x20-\x7e]+$/)
    expect(other.requests).toEqual([])
  })

  test('the command never follows a redirect from https to http', async () => {
    const other = await webServer(onTestFinished, (_, response) => response.end('{}'))
    const { url, connection } = await secure((_, response) =>
      response.writeHead(307, { location: `${other.url}/v1/x` }).end(),
    )
    await expect(sendRequest(`${url}/v1`, 'x', {}, connection)).rejects.toThrow(
      'but cloud-auth follows no redirects',
    )
    expect(other.requests).toEqual([])
  })

  test('the command verifies certificates even if NODE_TLS_REJECT_UNAUTHORIZED is 0', async () => {
    const { url } = await secure((_, response) => response.end('{"data":1}'))
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(sendRequest(url, 'x', {}, plain)).rejects.toMatchObject({ exit: 'unreachable' })
  })

  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['never ends', response => endless(response), /too large/],
    [
      'changes to another protocol',
      response => response.writeHead(101, { connection: 'upgrade', upgrade: 'x' }).end(),
      /another protocol/,
    ],
    [
      'breaks off',
      response => response.writeHead(200, { 'content-length': '9' }).end('{', () => response.destroy()),
      /cannot be reached/,
    ],
    [
      'comes byte by byte',
      response => void setInterval(() => response.write(' '), 10).unref(),
      /no answer within|aborted/,
    ],
  ])('the request fails on an answer that %s', async (_, answer, text) => {
    const { url } = await webServer(onTestFinished, (_, response) => answer(response))
    const refusal = await sendRequest(url, 'x', {}, { timeoutMs: 1500 }).catch(error => error)
    expect(refusal).toMatchObject({ exit: 'unreachable', message: expect.stringMatching(text) })
  })

  test('the command trusts the named CA and no other CA', async () => {
    const { url, connection } = await secure((_, response) => response.end('{"data":1}'))
    expect((await sendRequest(url, 'x', {}, connection)).body).toEqual({ data: 1 })
    const other = readApiConnection({ VAULT_CACERT_BYTES: createLocalAuthority('another').cert })
    for (const one of [plain, other])
      await expect(sendRequest(url, 'x', {}, one)).rejects.toMatchObject({ exit: 'unreachable' })
  })

  test.each([
    ['{"errors":["\\u001b[2Jno\\nSwitched.","never"]}', '400 \\u001b[2Jno Switched.; never'],
    ['{"errors":[{"toString":1},7,null]}', '400 {"errors":[{"toString":1},7,null]}'],
    ['\u202e\x9bevil', '400 \\u202e\\u009bevil'],
    ['null', '400 null'],
    ['', '400 without a reason'],
  ])('a refusal with %j is described in one escaped line', async (body, text) => {
    const { url } = await webServer(onTestFinished, (_, response) => response.writeHead(400).end(body))
    const patience = { timeoutMs: 5000, say: () => undefined, label: 'x' }
    await expect(requestUntilAccepted(() => sendRequest(url, 'x', {}, plain), patience)).rejects.toThrow(
      `x: ${text}`,
    )
  })

  test('the error names the address that cannot be reached', async () => {
    const nowhere = await closedPort()
    await expect(sendRequest(nowhere, 'x', {}, plain)).rejects.toMatchObject({
      exit: 'unreachable',
      message: `${nowhere} cannot be reached (ECONNREFUSED): no server listens there. Check the address`,
    })
    const { url } = await webServer(onTestFinished, () => undefined)
    await expect(sendRequest(url, 'x', {}, { timeoutMs: 50 })).rejects.toThrow('no answer within 0.05 s')
  })
})

/** Sends an endless response, as fast as the client reads. */
function endless(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, ' ')
  const more = () => {
    while (response.write(chunk));
    response.once('drain', more)
  }
  more()
}

/** Starts a TLS server. @returns the server, and options with which a client trusts its CA */
async function secure(answer: Parameters<typeof createServer>[1] & {}) {
  const authority = createLocalAuthority('ours')
  const server = createServer(authority.issue('east'), answer)
  const url = (await listenOnLoopback(server as never)).replace('http:', 'https:')
  onTestFinished(() => closeServer(server as never))
  return { url, connection: readApiConnection({ VAULT_CACERT_BYTES: authority.cert }) }
}
