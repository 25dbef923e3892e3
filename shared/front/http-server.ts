import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { refuseUnreadableRequest } from './unreadable.ts'

/** A response as sent to a client. */
export interface SentAnswer {
  status: number
  headers: Readonly<Record<string, string | string[]>>
  payload: Buffer
}

interface HttpServerOptions {
  /** Handles a request whose body has been read. */
  answer: (request: IncomingMessage, body: Buffer) => Promise<SentAnswer>
  /** responses for a too large body, for an error of `answer`, and for a request with more than one `Host` (RFC 9112, 3.2) */
  refusal: Readonly<Record<'tooLarge' | 'failed' | 'twoHosts', SentAnswer>>
  /** maximum bytes of a body */
  largestBody: number
  /** maximum bytes of the request line and headers together; larger requests get 431 */
  longestHead: number
}

/**
 * Creates an HTTP/1.1 server for front ends that build events. The server accepts only verbs that Node's parser
 * knows, which do not include LIST.
 */
export function createHttpServer({ answer, refusal, largestBody, longestHead }: HttpServerOptions): Server {
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
  return server.on('clientError', (error, socket) => refuseUnreadableRequest(error, socket as Socket))
}

function write(response: ServerResponse, { status, headers, payload }: SentAnswer): void {
  const length = payload.length > 0 ? { 'content-length': payload.length } : {}
  response.writeHead(status, { ...headers, ...length })
  response.end(payload)
}

/** Reads a body; undefined if it is too large. A too large body is still read to its end, because clients read the response only then. */
async function readBody(request: IncomingMessage, largest: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= largest) chunks.push(chunk)
  }
  return size <= largest ? Buffer.concat(chunks) : undefined
}
