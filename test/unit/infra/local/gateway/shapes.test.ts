import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { startLocalGateway } from '../../../../../infra/local/gateway/gateway.ts'
import type { ListeningServer } from '../../../../../infra/local/os/loopback.ts'
import { type FrontEvent, frontOfEvent, toHttpRequest } from '../../../../../shared/http/events.ts'
import { type FrontModel, imitated } from '../../../../support/service/other-fronts.ts'

const restApi: FrontModel = {
  id: 'api',
  kind: 'restApi',
  stage: 'v1',
  routes: [
    { key: 'ANY /role', functionName: 'roles' },
    { key: 'ANY /role/{role}', functionName: 'role' },
    { key: 'ANY /', functionName: 'fallback' },
    { key: 'ANY /{proxy+}', functionName: 'fallback' },
  ],
}
const alb: FrontModel = {
  id: 'balancer',
  kind: 'alb',
  rules: [
    { expressions: [/^\/v1\/other$/, /^\/v1\/role$/], functionName: 'roles' },
    { expressions: [/^\/v1\/role\/[^/]+$/], functionName: 'role' },
  ],
  otherwise: 'fallback',
}
const fronts = { restApi, alb } as const

let gateway: ListeningServer | undefined
afterEach(async () => {
  await gateway?.close()
  gateway = undefined
})

/** Starts a gateway that records the invoked functions and gives every request the same answer. */
async function started(front: FrontModel, answer: object | (() => never) = { statusCode: 204 }) {
  const called: { name: string; event: FrontEvent }[] = []
  gateway = await startLocalGateway({
    front: imitated(front),
    port: 0,
    invoke: async (name, event) => {
      called.push({ name, event: event as FrontEvent })
      return typeof answer === 'function' ? answer() : answer
    },
  })
  const { url } = gateway
  const send = async (head: string, body = '') => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `${head}\r\nHost: a.example\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    let text = ''
    socket.on('data', chunk => {
      text += chunk.toString()
    })
    await once(socket, 'close')
    return text
  }
  return { called, send }
}

describe.each(['restApi', 'alb'] as const)('an event of %s', kind => {
  test('the event has the shape that handlers expect, and the content of the request', async () => {
    const { called, send } = await started(fronts[kind])
    await send(
      'POST /v1/role/a%2Fb?x=1+1&x=%C3%A9&y HTTP/1.1\r\nX-Two: 1\r\nX-Two: 2\r\nContent-Type: application/json',
      '{"a":1}',
    )
    const [{ name, event } = { name: '', event: {} }] = called
    expect([name, frontOfEvent(event)]).toEqual(['role', kind])
    expect(toHttpRequest(event, 7)).toMatchObject({
      method: 'POST',
      path: kind === 'alb' ? '/v1/role/a/b' : '/role/a/b',
      query: [
        ['x', kind === 'alb' ? '1+1' : '1 1'],
        ['x', 'é'],
        ['y', ''],
      ],
      body: '{"a":1}',
      source: '127.0.0.1',
    })
    expect(toHttpRequest(event, 7).headers).toMatchObject({ 'x-two': '1,2', host: 'a.example' })
  })

  test('the event goes to the function of its path, or else to the fallback function', async () => {
    const { called, send } = await started(fronts[kind])
    for (const path of ['/v1/role', '/v1/role/x', '/v1/role/x/y', '/v1/else'])
      await send(`GET ${path} HTTP/1.1`)
    expect(called.map(one => one.name)).toEqual(['roles', 'role', 'fallback', 'fallback'])
  })
})

describe('the imitated load balancer', () => {
  test('the load balancer passes LIST unchanged, and an API rewrites LIST to a query flag', async () => {
    const balanced = await started(alb)
    await balanced.send('LIST /v1/role?after=a HTTP/1.1')
    expect(toHttpRequest(balanced.called[0]?.event ?? {}, 0)).toMatchObject({
      method: 'LIST',
      query: [['after', 'a']],
    })
    expect(Object.keys(balanced.called[0]?.event.multiValueHeaders ?? {}).sort()).toEqual([
      'connection',
      'content-length',
      'host',
      'x-amzn-trace-id',
      'x-forwarded-for',
    ])
    await gateway?.close()
    const api = await started(restApi)
    await api.send('LIST /v1/role?after=a HTTP/1.1')
    expect(toHttpRequest(api.called[0]?.event ?? {}, 0)).toMatchObject({
      method: 'GET',
      query: [
        ['list', 'true'],
        ['after', 'a'],
      ],
    })
  })

  test('the load balancer appends the caller to X-Forwarded-For, and drops headers with invalid names', async () => {
    const { called, send } = await started(alb)
    await send('GET /v1/role HTTP/1.1\r\nX-Forwarded-For: 10.0.0.1\r\nX_Vault_Token: t')
    const { headers, source } = toHttpRequest(called[0]?.event ?? {}, 0)
    expect([headers['x-forwarded-for'], source]).toEqual(['10.0.0.1, 127.0.0.1', '127.0.0.1'])
    expect(headers).not.toHaveProperty('x_vault_token')
  })

  test('the load balancer sends only multi-value headers to clients', async () => {
    const answer = { statusCode: 200, headers: { a: 'no' }, multiValueHeaders: { b: ['1', '2'] }, body: 'x' }
    const { send } = await started(alb, answer)
    const text = await send('GET /v1/role HTTP/1.1')
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(text).toMatch(/b: 1\r\nb: 2\r\n/)
    expect(text).not.toMatch(/a: no/)
  })

  test('the load balancer limits requests and answers to 1 MB', async () => {
    const MEGABYTE = 1024 * 1024
    const { called, send } = await started(alb, { statusCode: 200, body: 'x'.repeat(MEGABYTE) })
    expect(await send('POST /v1/role HTTP/1.1', 'y'.repeat(MEGABYTE + 1))).toMatch(/^HTTP\/1\.1 413 /)
    expect(called).toEqual([])
    expect(await send('POST /v1/role HTTP/1.1', 'y'.repeat(MEGABYTE))).toMatch(/^HTTP\/1\.1 502 /)
    expect(called).toHaveLength(1)
  })

  test('the load balancer accepts a larger head than an API', async () => {
    const head = `GET /v1/role HTTP/1.1\r\nX-A: ${'a'.repeat(20_000)}`
    expect(await (await started(alb)).send(head)).toMatch(/^HTTP\/1\.1 204 /)
    await gateway?.close()
    expect(await (await started(restApi)).send(head)).toMatch(/^HTTP\/1\.1 431 /)
  })
})

describe('the imitated REST API', () => {
  test('the REST API serves nothing outside its stage', async () => {
    const { called, send } = await started(restApi)
    for (const path of ['/', '/v2/role', '/v1x/role'])
      expect(await send(`GET ${path} HTTP/1.1`)).toMatch(/^HTTP\/1\.1 403 /)
    expect(called).toEqual([])
  })

  test('the REST API ignores a trailing slash', async () => {
    const { called, send } = await started(restApi)
    for (const path of ['/v1/role/', '/v1/role/x/', '/v1/', '/v1']) await send(`GET ${path} HTTP/1.1`)
    expect(called.map(one => one.name)).toEqual(['roles', 'role', 'fallback', 'fallback'])
  })

  test('the REST API answers 502 if a function fails', async () => {
    const { send } = await started(restApi, () => {
      throw new Error('no')
    })
    expect(await send('GET /v1/role HTTP/1.1')).toMatch(/^HTTP\/1\.1 502 /)
  })
})
