import { createServer, type ServerHttp2Session } from 'node:http2'
import { type Client, createClient, type ServiceImpl } from '@connectrpc/connect'
import { connectNodeAdapter, createGrpcWebTransport } from '@connectrpc/connect-node'
import { LinkService } from '../../../shared/wire/gen/link_pb.ts'
import { type ListeningServer, listenOnLoopback } from '../os/loopback.ts'

/** Maximum bytes of an unpacked request, as in the gateway behind this port. */
const LARGEST_QUESTION = 2 ** 20

/**
 * Starts a port for the link over HTTP/2. Only a host can offer this port, because gRPC needs trailers. The
 * port forwards every call to the gateway, and so to the same Lambda function.
 * @param gateway URL
 * @param port 0: any free port
 */
export async function startLinkPort(gateway: string, port = 0): Promise<ListeningServer> {
  const onward = createClient(LinkService, createGrpcWebTransport({ baseUrl: gateway, httpVersion: '1.1' }))
  const answer = connectNodeAdapter({
    readMaxBytes: LARGEST_QUESTION,
    routes: router => router.service(LinkService, forwardTo(onward)),
  })
  const server = createServer((request, response) => {
    if (request.headers['origin'] === undefined) return answer(request, response)
    // only clusters call this port, never pages in a browser
    response.writeHead(403).end()
  })
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', session => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  return {
    url: await listenOnLoopback(server, port),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const session of sessions) session.destroy()
      }),
  }
}

/** Forwards every method of the link. gRPC would answer UNIMPLEMENTED to a method without handler. */
function forwardTo(onward: Client<typeof LinkService>): ServiceImpl<typeof LinkService> {
  const names = Object.keys(LinkService.method) as (keyof typeof LinkService.method)[]
  const forward = (name: (typeof names)[number]) => [name, (call: never) => onward[name](call)]
  return Object.fromEntries(names.map(forward)) as ServiceImpl<typeof LinkService>
}
