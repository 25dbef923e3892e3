import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  createTextAnswer,
  type HttpHeader,
  requestHeaderOf,
  type WireOutcome,
  type WireRequest,
} from './http.ts'

const MEGABYTE = 1024 * 1024

/**
 * Milliseconds for which the server keeps an idle connection, longer than clients do, so that the server
 * never closes a connection during a request.
 */
const keepAliveMs = 120_000

type Answerer = (request: WireRequest, connection: Socket) => Promise<WireOutcome>

/** Options of a server. */
interface ServerOptions {
  /** returns the server's time in epoch milliseconds; default: the system's clock */
  now?: () => number
  /** most bytes of a body; default: 1 MB */
  largestBody?: number
}

/**
 * Creates an HTTP server for programs. The server does not listen yet. The server rejects every request from a page
 * in a browser, because such pages can reach loopback.
 */
export function createWireServer(
  answer: Answerer,
  { now = Date.now, largestBody = MEGABYTE }: ServerOptions = {},
): Server {
  const answerPrograms: Answerer = (request, connection) =>
    requestHeaderOf(request, 'origin') === undefined
      ? answer(request, connection)
      : Promise.resolve(createTextAnswer(403, 'application/json', '{"error":"not for browsers"}'))
  const server = createServer((incoming, response) => {
    serve({ answer: answerPrograms, now, largestBody }, incoming, response).catch(() =>
      incoming.socket.destroy(),
    )
  })
  server.keepAliveTimeout = keepAliveMs
  return server
}

async function serve(
  { answer, now, largestBody }: Required<ServerOptions> & { answer: Answerer },
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(incoming, largestBody)
  const outcome =
    body === undefined
      ? createTextAnswer(413, 'text/plain', 'Request Entity Too Large')
      : await answer(requestOf(incoming, body), incoming.socket)
  if (outcome === 'reset') {
    incoming.socket.resetAndDestroy()
    return
  }
  // the header has the server's time, because clients correct their clocks by it
  response.writeHead(outcome.status, { date: new Date(now()).toUTCString(), ...outcome.headers })
  response.end(outcome.body)
}

/**
 * Reads the whole body of a request. Returns undefined for a body that is larger than allowed; the rest of
 * the body is read and dropped.
 */
async function readBody(incoming: IncomingMessage, largest: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming) {
    length += chunk.length
    if (length <= largest) chunks.push(chunk)
  }
  return length <= largest ? Buffer.concat(chunks) : undefined
}

function requestOf(incoming: IncomingMessage, body: Buffer): WireRequest {
  const target = incoming.url ?? '/'
  const at = target.indexOf('?')
  return {
    method: incoming.method ?? '',
    path: at < 0 ? target : target.slice(0, at),
    query: at < 0 ? '' : target.slice(at + 1),
    headers: headersOf(incoming.rawHeaders),
    body,
  }
}

function headersOf(raw: readonly string[]): HttpHeader[] {
  const headers: HttpHeader[] = []
  for (let n = 0; n < raw.length; n += 2) headers.push([raw[n]?.toLowerCase() ?? '', raw[n + 1] ?? ''])
  return headers
}
