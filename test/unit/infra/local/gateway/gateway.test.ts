import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as secureConnect } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { startLocalGateway } from '../../../../../infra/local/gateway/gateway.ts'
import { createRouteFinder } from '../../../../../infra/local/gateway/routes.ts'
import { createHttpApi } from '../../../../../infra/local/gateway/shapes.ts'
import { linkPath } from '../../../../../shared/link/routes.ts'

const routes = [
  'ANY /v1/auth/{mount}/role/{proxy+}',
  'ANY /v1/auth/{mount}/role/{role}/explain',
  'ANY /v1/auth/{mount}/login',
  'ANY /v1/auth/{mount}/login/{proxy+}',
  'ANY /v1/auth/token/{proxy+}',
  'ANY /v1/{proxy+}',
  'GET /v1/sys/health',
]
const find = (method: string, path: string, keys = [...routes, '$default']) =>
  createRouteFinder(keys.map(key => ({ key, functionName: key })))(method, path)

describe('the gateway chooses routes as API Gateway does for HTTP APIs', () => {
  test.each([
    ['GET', '/v1/auth/cloud/role/dev', 'ANY /v1/auth/{mount}/role/{proxy+}'],
    ['GET', '/v1/auth/cloud/role/dev/tag', 'ANY /v1/auth/{mount}/role/{proxy+}'],
    ['POST', '/v1/auth/cloud/role/dev/explain', 'ANY /v1/auth/{mount}/role/{role}/explain'],
    ['POST', '/v1/auth/cloud/login', 'ANY /v1/auth/{mount}/login'],
    ['POST', '/v1/auth/token/login', 'ANY /v1/auth/{mount}/login'],
    ['POST', '/v1/auth/token/lookup', 'ANY /v1/auth/token/{proxy+}'],
    ['GET', '/v1/auth/cloud/role', 'ANY /v1/{proxy+}'],
    ['GET', '/v1/auth//role/x', 'ANY /v1/{proxy+}'],
    ['GET', '/v1/sys/health', 'GET /v1/sys/health'],
    ['HEAD', '/v1/sys/health', 'ANY /v1/{proxy+}'],
    ['GET', '/other', '$default'],
  ])('%s %s: %s', (method, path, wanted) => {
    expect(find(method, path)).toBe(wanted)
    expect(find(method, path, ['$default', ...routes.toReversed()])).toBe(wanted)
  })

  test('without a matching route and without a default no function is found', () => {
    expect(find('GET', '/other', routes)).toBeUndefined()
  })
})

test('requests wait while the cluster checks its role as primary, except requests of the link', async () => {
  const served: string[] = []
  let go: () => void = () => undefined
  const asked = new Promise<void>(resolve => {
    go = resolve
  })
  const gateway = await startLocalGateway({
    front: createHttpApi([{ key: '$default', functionName: 'f' }]),
    port: 0,
    hold: () => asked,
    invoke: async (_, event) => {
      served.push((event as { rawPath: string }).rawPath)
      return { statusCode: 204 }
    },
  })
  try {
    const write = fetch(`${gateway.url}/v1/sys/policies/acl/a`, { method: 'POST' })
    await fetch(`${gateway.url}${linkPath}Fence`, { method: 'POST' })
    expect(served).toEqual([`${linkPath}Fence`])
    go()
    expect((await write).status).toBe(204)
  } finally {
    await gateway.close()
  }
})

test('a TLS client gets an error at once from the plain HTTP port', async () => {
  const gateway = await startLocalGateway({
    front: createHttpApi([]),
    port: 0,
    invoke: async () => ({ statusCode: 204 }),
  })
  try {
    const [error] = await once(secureConnect(Number(new URL(gateway.url).port), '127.0.0.1'), 'error')
    expect(String(error)).toContain('wrong version number')
  } finally {
    await gateway.close()
  }
})

const MUCH = 'a'.repeat(5_000_000)

test.each([
  ['a head without end', `POST / HTTP/1.1\r\nHost: x\r\nX-A: ${MUCH}`, 431, 'head_too_large'],
  [
    'a chunk of no length',
    `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n${MUCH}`,
    400,
    'invalid_request',
  ],
  ['no HTTP', `one two three${MUCH}`, 400, 'invalid_request'],
])(
  'a client that sends %s gets an error although the client continues to send',
  async (_, sent, status, code) => {
    const gateway = await startLocalGateway({
      front: createHttpApi([]),
      port: 0,
      invoke: async () => ({ statusCode: 204 }),
    })
    try {
      const told = await new Promise<string>((resolve, reject) => {
        const client = connect(Number(new URL(gateway.url).port), '127.0.0.1')
        let answer = ''
        client.on('data', chunk => {
          answer += chunk.toString()
        })
        client.on('end', () => resolve(answer))
        client.on('error', reject)
        client.write(sent)
      })
      const [head = '', body = ''] = told.split('\r\n\r\n')
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(head.split('\r\n')).toEqual(
        expect.arrayContaining([
          'Content-Type: application/json',
          `Content-Length: ${body.length}`,
          `X-Error-Code: ${code}`,
        ]),
      )
      expect(JSON.parse(body)).toEqual({ errors: [expect.any(String)] })
    } finally {
      await gateway.close()
    }
  },
)
