import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { defined } from '../values/defined.ts'
import { refuseUnreadable } from './unreadable.ts'

/** What is answered to an event. */
export interface EventAnswer {
  statusCode: number
  headers?: Record<string, string>
  body?: string
  isBase64Encoded?: boolean
}

/** Who called, and what the request is called, as the front in front of this server says. */
interface Seen {
  source?: string
  requestId?: string
}

interface HttpServerOptions {
  /** answers an event; what it throws is 500 */
  answer: (event: HttpEvent) => Promise<EventAnswer>
  /** bytes of a body; more is 413 */
  largestBody: number
  /** bytes of a request's line and headers together; more is 431 */
  longestHead: number
  /** account and ID of the API that events name */
  api: { accountId: string; apiId: string }
  /** without it, the peer of the connection has called, and requests get numbers of their own */
  seenIn?: (headers: Readonly<Record<string, string>>) => Seen
}

/**
 * A server of HTTP/1.1 whose requests become events of an HTTP API, payload version 2.0. It knows no verb that Node's
 * parser does not know, LIST among them.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
export function httpServer(options: HttpServerOptions): Server {
  const { answer, largestBody, longestHead } = options
  const server = createServer({ maxHeaderSize: longestHead }, (request, response) => {
    serve(request)
      .then(one => write(response, one))
      .catch(() => response.headersSent || write(response, ownAnswer(500)))
  })
  async function serve(request: IncomingMessage): Promise<EventAnswer> {
    const body = await readBody(request, largestBody)
    return body ? answer(eventOf(request, body, options)) : ownAnswer(413)
  }
  return server.on('clientError', (error, socket) => refuseUnreadable(error, socket as Socket))
}

const MESSAGES = {
  404: 'Not Found',
  413: 'Request Entity Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const

/** What API Gateway itself answers. */
export const ownAnswer = (statusCode: keyof typeof MESSAGES): EventAnswer => ({
  statusCode,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ message: MESSAGES[statusCode] }),
})

function write(
  response: ServerResponse,
  { statusCode, headers, body = '', isBase64Encoded }: EventAnswer,
): void {
  const payload = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8')
  response.writeHead(
    statusCode,
    defined({ ...headers, 'content-length': payload.length > 0 ? payload.length : undefined }),
  )
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

const TEXTUAL = /^(text\/|application\/(json|xml|javascript|x-www-form-urlencoded|[\w.-]+\+json))/

/** An event of payload version 2.0. */
export type HttpEvent = ReturnType<typeof eventOf>

/** The path is decoded, and a `?` that this uncovers cuts it off. */
function eventOf(
  request: IncomingMessage,
  body: Buffer,
  { api, seenIn = () => ({}) }: Pick<HttpServerOptions, 'api' | 'seenIn'>,
) {
  const target = request.url ?? '/'
  const mark = target.indexOf('?')
  const path = decoded(mark < 0 ? target : target.slice(0, mark)).split('?')[0] ?? ''
  const rawQueryString = mark < 0 ? '' : target.slice(mark + 1)
  const headers: Record<string, string> = {}
  for (const [name, values] of Object.entries(request.headersDistinct))
    headers[name] = (values ?? []).join(',')
  const text = TEXTUAL.test(headers['content-type'] ?? 'text/plain')
  const peer = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
  const { source = peer, requestId = randomUUID() } = seenIn(headers)
  const now = new Date()
  return defined({
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString,
    headers,
    requestContext: {
      ...api,
      domainName: headers['host'] ?? 'localhost',
      http: {
        method: request.method ?? 'GET',
        path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: source,
        userAgent: headers['user-agent'] ?? '',
      },
      requestId,
      stage: '$default',
      time: now.toISOString(),
      timeEpoch: now.getTime(),
    },
    body: body.length > 0 ? body.toString(text ? 'utf8' : 'base64') : undefined,
    isBase64Encoded: body.length > 0 && !text,
  })
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
