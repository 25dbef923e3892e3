import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { linkPath } from '../../../shared/link/routes.ts'
import { InvocationFault } from '../lambda/environment.ts'
import { endServer, listen } from '../os/loopback.ts'
import type { FrontModel } from '../template/fronts.ts'
import { acceptList } from './list-verb.ts'
import { finderOf } from './routes.ts'
import { type FunctionAnswer, shapeOf } from './shapes.ts'
import { refuseUnreadable } from './unreadable.ts'

export interface GatewayOptions {
  front: FrontModel
  port: number
  invoke: (functionName: string, event: unknown) => Promise<unknown>
  /** what requests have to wait for, but for those of the link */
  hold?: () => Promise<void> | undefined
  /** paths that only this host serves, by method and path */
  extra?: Readonly<Record<string, string>>
}

export interface Gateway {
  url: string
  close(): Promise<void>
}

/** What stands before functions on AWS: it finds the function of a request, and puts request and answer into its shape. */
export async function startGateway({
  front,
  port,
  invoke,
  hold = () => undefined,
  extra = {},
}: GatewayOptions): Promise<Gateway> {
  const find = finderOf(front)
  const shape = shapeOf(front)
  const { limits, faults } = shape
  const http = createServer({ maxHeaderSize: limits.head }, (request, response) => {
    serve(request, response).catch(() => own(response, faults.failed))
  })
  const own = (response: ServerResponse, status: number): void => {
    if (response.headersSent) return
    const { type, body } = shape.own(status)
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
    response.end(body)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request, limits.body)
    if (!body) return own(response, 413)
    const { method, path, whole, event } = shape.read(request, body)
    if (path === undefined) return own(response, 403)
    if (!path.startsWith(linkPath)) await hold()
    const functionName = extra[`${method} ${whole}`] ?? find(method, path)
    if (functionName === undefined) return own(response, 404)
    try {
      const { status, headers, payload } = shape.answered(
        (await invoke(functionName, event)) as FunctionAnswer,
      )
      response.writeHead(status, {
        ...headers,
        ...(payload.length > 0 ? { 'content-length': payload.length } : {}),
      })
      response.end(payload)
    } catch (error) {
      own(response, error instanceof InvocationFault && error.timedOut ? faults.late : faults.failed)
    }
  }

  http.on('connection', socket => acceptList(socket, shape.list))
  http.on('clientError', (error, socket) => refuseUnreadable(error, socket as Socket))
  return { url: await listen(http, port), close: () => endServer(http) }
}

/** Undefined when it is too large: it is read to its end all the same, for only then will the client listen. */
async function readBody(request: IncomingMessage, largest: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= largest) chunks.push(chunk)
  }
  return size <= largest ? Buffer.concat(chunks) : undefined
}
