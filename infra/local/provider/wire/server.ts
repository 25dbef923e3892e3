import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { type Header, textAnswer, type WireOutcome, type WireRequest } from './http.ts'

const maxBody = 1024 * 1024

/** Longer than clients keep a connection, so that it is never closed under a request. */
const keepAliveMs = 120_000

type Answerer = (request: WireRequest, connection: Socket) => Promise<WireOutcome>

/** An HTTP server in front of the imitated AWS; not listening yet. */
export function serverOf(aws: ImitatedAws, answer: Answerer): Server {
  const server = createServer((incoming, response) => {
    serve(aws, answer, incoming, response).catch(() => incoming.socket.destroy())
  })
  server.keepAliveTimeout = keepAliveMs
  return server
}

async function serve(
  aws: ImitatedAws,
  answer: Answerer,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(incoming)
  const outcome =
    body === undefined
      ? textAnswer(413, 'text/plain', 'Request Entity Too Large')
      : await answer(requestOf(incoming, body), incoming.socket)
  if (outcome === 'reset') {
    incoming.socket.resetAndDestroy()
    return
  }
  // Clients correct their clocks by this header, so it must tell the provider's time.
  response.writeHead(outcome.status, { date: new Date(aws.now()).toUTCString(), ...outcome.headers })
  response.end(outcome.body)
}

/** The whole body, or undefined when it is larger than a request may be (the rest is read and dropped). */
async function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming) {
    length += chunk.length
    if (length <= maxBody) chunks.push(chunk)
  }
  return length <= maxBody ? Buffer.concat(chunks) : undefined
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

function headersOf(raw: readonly string[]): Header[] {
  const headers: Header[] = []
  for (let n = 0; n < raw.length; n += 2) headers.push([raw[n]?.toLowerCase() ?? '', raw[n + 1] ?? ''])
  return headers
}
