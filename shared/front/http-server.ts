import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { refuseUnreadable } from './unreadable.ts'

/** What is sent to a client. */
export interface SentAnswer {
  status: number
  headers: Readonly<Record<string, string | string[]>>
  payload: Buffer
}

interface HttpServerOptions {
  /** answers a request, whose body has been read */
  answer: (request: IncomingMessage, body: Buffer) => Promise<SentAnswer>
  /** for a body that is too large, where `answer` throws, and for a request with more than one `Host` (RFC 9112, 3.2) */
  refusal: Readonly<Record<'tooLarge' | 'failed' | 'twoHosts', SentAnswer>>
  /** bytes of a body, at most */
  largestBody: number
  /** bytes of a request's line and headers together; more is 431 */
  longestHead: number
}

/**
 * A server of HTTP/1.1 for what makes events of requests. It knows no verb that Node's parser does not know, LIST among
 * them.
 */
export function httpServer({ answer, refusal, largestBody, longestHead }: HttpServerOptions): Server {
  const server = createServer({ maxHeaderSize: longestHead }, (request, response) => {
    serve(request)
      .then(one => write(response, one))
      .catch(() => response.headersSent || write(response, refusal.failed))
  })
  async function serve(request: IncomingMessage): Promise<SentAnswer> {
    const body = await readBody(request, largestBody)
    if ((request.headersDistinct.host?.length ?? 0) > 1) return refusal.twoHosts
    return body ? answer(request, body) : refusal.tooLarge
  }
  return server.on('clientError', (error, socket) => refuseUnreadable(error, socket as Socket))
}

function write(response: ServerResponse, { status, headers, payload }: SentAnswer): void {
  const length = payload.length > 0 ? { 'content-length': payload.length } : {}
  response.writeHead(status, { ...headers, ...length })
  response.end(payload)
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
