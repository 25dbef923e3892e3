import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2SecureServer,
  type Http2Server,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { create } from '@bufbuild/protobuf'
import { Code, createClient } from '@connectrpc/connect'
import { compressionGzip, connectNodeAdapter, createGrpcTransport } from '@connectrpc/connect-node'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { startLinkPort } from '../../infra/local/gateway/link-port.ts'
import { createLocalAuthority, createServerTls } from '../../infra/local/gateway/tls.ts'
import { createLinkCarrier } from '../../shared/adapters/link/carrier.ts'
import { createLazyCarrier } from '../../shared/adapters/link/lazy-carrier.ts'
import { createLinkHandler } from '../../shared/http/link.ts'
import { notALinkCallError } from '../../shared/link/refusals.ts'
import { createLinkRoutes } from '../../shared/link/routes.ts'
import { LinkRefused, LinkSilent, LinkUnsigned } from '../../shared/link/source.ts'
import type { Authorities } from '../../shared/ports.ts'
import { sha256 } from '../../shared/values/secret.ts'
import type { CreateLinkCarrier } from '../../shared/wire/carry.ts'
import { CallSchema, LinkService } from '../../shared/wire/gen/link_pb.ts'
import { closedPort, rawServer, webServer } from '../support/service/server.ts'
import { linkGateway } from '../support/set/link.ts'
import { follower, primaryWorld, type World } from '../unit/link/serve/world.ts'

let w: World
beforeEach(async () => {
  w = await primaryWorld()
})

type AnyServer = Server | Http2Server | Http2SecureServer

/** Listens until the test ends. Its connections can be cut earlier. */
async function listening(server: AnyServer, scheme = 'http') {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    server.close()
    cut()
  })
  return { url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`, cut }
}

/** Makes the Lambda behind a gateway. */
const gateway = (seen: string[]): RequestListener => linkGateway(createLinkHandler(w.ports), seen)

/** Makes the router itself, which speaks gRPC. */
const router = (protocols: string[]) =>
  connectNodeAdapter({
    routes: createLinkRoutes(async (method, call, reachedAt) => {
      protocols.push(method)
      return w.serve(method, call, reachedAt)
    }),
  })

/** Makes the carrier of the embedded host, whose clusters are all on this machine. */
const carrier = (authorities?: Authorities) =>
  createLinkCarrier({ ...(authorities && { authorities }), deployment: { plainEndpoints: true } })

const admitted = async (addresses: readonly string[], ca?: string) => {
  const token = await w.token('west')
  const carry = carrier()(ca === undefined ? { addresses } : { addresses, ca })
  const one = follower(w, 'west', { carry })
  await one.activateBy(token)
  w.clock.ms += 1000
  return one
}

/**
 * Starts a front with a full queue. The front takes no connections for some milliseconds, and attempts in this time
 * never get an answer. After these milliseconds the front passes everything on to another address.
 */
async function fullFor(ms: number, to: string) {
  const { port } = new URL(to)
  const child = spawn(
    process.execPath,
    [
      '-e',
      `const net = require('node:net')
       const server = net.createServer(one => {
         const other = net.connect(${port}, '127.0.0.1')
         for (const [from, to] of [[one, other], [other, one]]) from.on('error', () => to.destroy()).pipe(to)
       })
       server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
         require('node:fs').writeSync(1, server.address().port + '\\n')
         Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms})
         setImmediate(() => setImmediate(() => console.log('taken')))
       })`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const own = Number((await lines.next()).value)
  const waiting = [1, 2].map(() => connect(own, '127.0.0.1').on('error', () => undefined))
  await Promise.all(waiting.map(one => once(one, 'connect')))
  const close = () => {
    child.kill()
    for (const one of waiting) one.destroy()
  }
  return { url: `http://127.0.0.1:${own}`, full: { close }, taken: lines.next() }
}

describe('the carrier of link calls between clusters', () => {
  test('speaks gRPC with a server that understands gRPC', async () => {
    const seen: string[] = []
    const { url } = await listening(createHttp2Server(router(seen)))
    const one = await admitted([url])
    expect((await one.heartbeat()).epoch).toBe(w.epoch)
    expect(seen).toEqual(['Activate', 'Heartbeat'])
  })

  test('speaks gRPC-Web behind a gateway, and tries no other protocol after the first answer', async () => {
    const seen: string[] = []
    const { url } = await listening(createServer(gateway(seen)))
    const one = await admitted([url])
    for (let count = 0; count < 3; count++) {
      w.clock.ms += 1000
      await one.heartbeat()
    }
    expect(seen).toEqual(Array.from({ length: 4 }, () => 'application/grpc-web+proto'))
  })

  test.each(['http2', 'http1'] as const)(
    'returns a refusal of the called cluster with its code and addresses, by %s',
    async version => {
      const server = version === 'http2' ? createHttp2Server(router([])) : createServer(gateway([]))
      const { url } = await listening(server)
      const one = await admitted([url])
      await w.revoke('west')
      w.clock.ms += 1000
      const error = await one.heartbeat().catch((cause: unknown) => cause)
      expect(error).toBeInstanceOf(LinkRefused)
      expect(error).toMatchObject({
        code: 'permission_denied',
        addresses: ['https://primary.example', 'https://west.example'],
      })
    },
  )

  test('passes the address of a call on to the called service', async () => {
    w = await primaryWorld({ clusterAddr: '' })
    Object.assign(w.ports.deployment, { plainEndpoints: true })
    const { url } = await listening(createHttp2Server(router([])))
    expect((await (await admitted([url])).heartbeat()).addresses).toEqual([url])
  })

  test('returns a large answer completely', async () => {
    w.memory.journal.readRaw = async places =>
      places.map(({ kind, pk, sk }) => ({ kind, pk, sk, rev: 'r', data: { text: 'x'.repeat(300_000) } }))
    const { url } = await listening(createServer(gateway([])))
    const one = await admitted([url])
    const keys = Array.from(
      { length: 15 },
      (_, index) => ({ kind: 'role', pk: 'a', sk: String(index) }) as const,
    )
    const { items } = await one.source.items({ keys })
    expect(items.map(item => item?.sk)).toEqual(keys.map(({ sk }) => sk))
  })
})

test('a host accepts gRPC calls and passes each call on to its gateway', async () => {
  const seen: string[] = []
  const { url } = await listening(createServer(gateway(seen)))
  const port = await startLinkPort(url)
  onTestFinished(() => port.close())
  const one = await admitted([port.url])
  expect((await one.heartbeat()).epoch).toBe(w.epoch)
  await w.revoke('west')
  w.clock.ms += 1000
  await expect(one.heartbeat()).rejects.toMatchObject({ code: 'permission_denied' })
  expect(seen).toHaveLength(3)
})

test('a host refuses a call that unpacks to more than the limit of its gateway', async () => {
  const seen: string[] = []
  const { url } = await listening(createServer(gateway(seen)))
  const port = await startLinkPort(url)
  onTestFinished(() => port.close())
  const transport = createGrpcTransport({
    baseUrl: port.url,
    sendCompression: compressionGzip,
    compressMinBytes: 0,
  })
  const bomb = createClient(LinkService, transport).heartbeat({ body: new Uint8Array(16 * 2 ** 20) })
  await expect(bomb).rejects.toMatchObject({ code: Code.ResourceExhausted })
  expect(seen).toEqual([])
})

describe('connections of the carrier', () => {
  test.each(['http2', 'http1'] as const)('a dead connection is replaced, by %s', async version => {
    const server = version === 'http2' ? createHttp2Server(router([])) : createServer(gateway([]))
    const { url, cut } = await listening(server)
    const one = await admitted([url])
    await one.heartbeat()
    cut()
    w.clock.ms += 1000
    expect((await one.source.keyring({ term: 1 })).term).toBe(1)
  })

  test('a connection that is not accepted ends with its call, and the next call uses a new connection', async () => {
    const { url } = await listening(createHttp2Server(router([])))
    const { url: front, full, taken } = await fullFor(1500, url)
    onTestFinished(full.close)
    const carry = carrier()({ addresses: [front] })
    const call = create(CallSchema)
    const sockets = () => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
    const before = sockets()
    for (let count = 0; count < 2; count++)
      await expect(carry('Heartbeat', call, 300)).rejects.toThrow(/timed out/)
    // the kernel repeats a connection attempt ever more rarely; a new connection is tried at once
    expect(sockets()).toBe(before + 2)
    await taken
    expect((await carry('Heartbeat', call, 10_000)).signature.length).toBe(0)
  })

  test('uses the address that answers, and tries that address first from then on', async () => {
    const dead = await closedPort()
    const seen: string[] = []
    const { url } = await listening(createServer(gateway(seen)))
    const one = await admitted([dead, url])
    await one.heartbeat()
    expect(seen).toHaveLength(2)
  })

  test('names every address with its error when no address answers', async () => {
    const [first, second] = [await closedPort(), await closedPort()]
    const attempt = admitted([first, second])
    await expect(attempt).rejects.toThrow(LinkSilent)
    await expect(attempt).rejects.not.toThrow(LinkUnsigned)
    await expect(attempt).rejects.toThrow(first)
    await expect(attempt).rejects.toThrow(second)
  })

  test('a call without addresses fails and says that no address is known', async () => {
    await expect(admitted([])).rejects.toThrow('no address of the other cluster is known')
  })

  test('a call to a server that never answers ends at its timeout and is sent only once', async () => {
    const { url, count } = await rawServer(onTestFinished, () => undefined)
    const carry = carrier()({ addresses: [url] })
    const { source } = follower(w, 'west', {
      carry: (method, call) => carry(method, call, 300),
    })
    const attempt = source.keyring({ term: 1 })
    await expect(attempt).rejects.toThrow(LinkSilent)
    await expect(attempt).rejects.not.toThrow(LinkUnsigned)
    expect(count()).toBe(1)
  })

  test('a server that closes the connection after a call counts as silent', async () => {
    const { url } = await rawServer(onTestFinished, socket => socket.on('data', () => socket.destroy()))
    const attempt = admitted([url])
    await expect(attempt).rejects.toThrow(LinkSilent)
    await expect(attempt).rejects.not.toThrow(LinkUnsigned)
  })

  test('an unsigned answer of a front is reported as unsigned with its status, at any of the addresses', async () => {
    const { url } = await webServer(onTestFinished, (_, response) => {
      response.writeHead(503, { 'content-type': 'application/json' }).end('{}')
    })
    const attempt = admitted([await closedPort(), url, await closedPort()])
    await expect(attempt).rejects.toThrow(LinkUnsigned)
    await expect(attempt).rejects.toThrow(`${url}: [unavailable] HTTP 503`)
  })
})

describe('the carrier refuses', () => {
  const secrets = createServerTls('link test')

  test.each(['http2', 'http1'] as const)(
    'a certificate of an unknown authority, unless the cluster trusts that authority: %s',
    async version => {
      const server =
        version === 'http2'
          ? createSecureServer(secrets, router([]))
          : createHttpsServer(secrets, gateway([]))
      const { url } = await listening(server, 'https')
      await expect(admitted([url])).rejects.toThrow(/self.signed certificate/)
      await w.revoke('west')
      w.clock.ms += 1000
      const one = await admitted([url], secrets.cert)
      expect((await one.heartbeat()).epoch).toBe(w.epoch)
      const other = follower(w, 'west', {
        carry: carrier()({ addresses: [url], ca: createServerTls('another').cert }),
      })
      await expect(other.heartbeat()).rejects.toThrow(LinkSilent)
    },
  )

  describe('a certificate of an authority', () => {
    const authority = createLocalAuthority('an organisation')
    const answering = async (names?: readonly string[]) => {
      const server = createHttpsServer(authority.issue('a balancer', names), gateway([]))
      return (await listening(server, 'https')).url
    }
    const heartbeatOver = async (url: string, carryTo: CreateLinkCarrier, ca?: string) => {
      const one = follower(w, 'west', { carry: carryTo({ addresses: [url], ca }) })
      await one.activateBy(await w.token('west'))
      w.clock.ms += 1000
      return (await one.heartbeat()).epoch
    }
    const shipped = { shipped: async () => new Map([['own.pem', authority.cert]]) }

    test('is trusted when the authority is given or shipped with the deployment', async () => {
      expect(await heartbeatOver(await answering(), carrier(), authority.cert)).toBe(w.epoch)
      w = await primaryWorld()
      expect(await heartbeatOver(await answering(), carrier(shipped))).toBe(w.epoch)
    })

    test('is trusted when the authority is shipped, also with the lazy carrier', async () => {
      const lazy = createLazyCarrier(() => ({ authorities: shipped, deployment: { plainEndpoints: true } }))
      expect(await heartbeatOver(await answering(), lazy)).toBe(w.epoch)
    })

    test('is not trusted for another name, or when other authorities are given', async () => {
      const elsewhere = await answering(['elsewhere.example'])
      await expect(heartbeatOver(elsewhere, carrier(), authority.cert)).rejects.toThrow(
        /IP: 127.0.0.1 is not in the cert/,
      )
      await w.revoke('west')
      const other = createLocalAuthority('another organisation').cert
      await expect(heartbeatOver(await answering(), carrier(shipped), other)).rejects.toThrow(
        /unable to verify|unable to get/,
      )
    })
  })

  test('a redirect to any target', async () => {
    const seen: string[] = []
    const { url: target } = await listening(createServer(gateway(seen)))
    const { url, requests } = await webServer(onTestFinished, (_, response) => {
      response.writeHead(307, { location: target }).end()
    })
    await expect(admitted([url])).rejects.toThrow(LinkSilent)
    expect(requests.length).toBeGreaterThan(0)
    expect(seen).toEqual([])
  })

  test('an address of this machine in a deployment', async () => {
    const seen: string[] = []
    const { url } = await listening(createServer(gateway(seen)))
    const carry = createLinkCarrier({ deployment: { plainEndpoints: false } })({ addresses: [url] })
    const one = follower(w, 'west', { carry })
    await expect(one.activateBy(await w.token('west'))).rejects.toThrow('the address rules forbid calls')
    expect(seen).toEqual([])
  })

  test.each(['http://primary.example', 'ftp://127.0.0.1', 'primary.example', ''])(
    'an address that is not https: %j',
    async address => {
      await expect(admitted([address])).rejects.toThrow(LinkSilent)
    },
  )

  test.each([
    [200, 'text/html', '<html>'],
    [200, 'application/grpc-web+proto', 'not what it says'],
    [429, 'application/json', '{"message":"Too Many Requests"}'],
    [500, 'application/json', '{"message":"Internal Server Error"}'],
    [504, 'text/plain', ''],
    [404, 'application/json', '{"message":"Not Found"}'],
  ])('an answer of a server that is no cluster: %i %s', async (status, type, body) => {
    const { url } = await webServer(onTestFinished, (_, response) => {
      response.writeHead(status, { 'content-type': type }).end(body)
    })
    await expect(admitted([url])).rejects.toThrow(LinkUnsigned)
  })
})

describe('the Lambda behind every front end', () => {
  const ask = (event: object) => createLinkHandler(w.ports)({ headers: {}, ...event })

  test.each([
    ['another path', { rawPath: '/cloudauth.link.v1.LinkService/Nothing' }, 404],
    ['another verb', { method: 'GET' }, 405],
    ['gRPC, whose trailers get lost', { type: 'application/grpc' }, 415],
    ['a content type that is no protocol of the link', { type: 'text/plain' }, 415],
  ])(
    '%s: answers $2',
    async (_, {
      rawPath = '/cloudauth.link.v1.LinkService/Heartbeat',
      method = 'POST',
      type = 'application/proto',
    }: { rawPath?: string; method?: string; type?: string }, status) => {
      const requestContext = { domainName: 'a.example', http: { method } }
      const answer = await ask({ version: '2.0', rawPath, headers: { 'content-type': type }, requestContext })
      expect(answer.statusCode).toBe(status)
    },
  )

  test('refuses a call that bypasses the proxy, and accepts a call through the proxy', async () => {
    const proxy = { secretHashes: [sha256('s').toString('hex')], hops: 1 }
    const ports = { ...w.ports, deployment: { ...w.ports.deployment, proxy } }
    const calling = (headers: object) =>
      createLinkHandler(ports)({
        version: '2.0',
        rawPath: '/cloudauth.link.v1.LinkService/Heartbeat',
        headers: { 'content-type': 'application/json', ...headers },
        body: '{}',
        requestContext: {
          requestId: 'r-1',
          domainName: 'a.example',
          http: { method: 'POST', sourceIp: '192.0.2.1' },
        },
      })
    const around = await calling({ 'x-forwarded-for': '203.0.113.9, 192.0.2.1' })
    expect([around.statusCode, around.headers['x-error-code']]).toEqual([403, 'misdirected'])
    const through = await calling({ 'x-origin-secret': 's', 'x-forwarded-for': '203.0.113.9, 192.0.2.1' })
    expect(JSON.parse(Buffer.from(through.body, 'base64').toString())).toMatchObject({
      message: notALinkCallError().message,
    })
  })

  test('understands Connect as JSON, and refuses an invalid call with its text', async () => {
    const answer = await ask({
      version: '2.0',
      rawPath: '/cloudauth.link.v1.LinkService/Heartbeat',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      requestContext: { domainName: 'a.example', http: { method: 'POST' } },
    })
    expect(answer.statusCode).toBe(400)
    expect(JSON.parse(Buffer.from(answer.body, 'base64').toString())).toMatchObject({
      code: 'invalid_argument',
      message: notALinkCallError().message,
    })
  })

  test('a load balancer gets headers as lists', async () => {
    const answer = await ask({
      path: '/cloudauth.link.v1.LinkService/Heartbeat',
      httpMethod: 'POST',
      headers: null,
      multiValueHeaders: { 'content-type': ['application/json'] },
      body: Buffer.from('{}').toString('base64'),
      isBase64Encoded: true,
      requestContext: { elb: {} },
    })
    expect(answer.multiValueHeaders?.['content-type']).toEqual(['application/json'])
  })
})
