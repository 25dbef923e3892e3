import { randomUUID } from 'node:crypto'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { defined } from '../values/defined.ts'
import type { SentAnswer } from './http-server.ts'

/** What a function answers to an event. */
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

interface EventOptions {
  /** account and ID of the API that events name */
  api: { accountId: string; apiId: string }
  /** without it, the peer of the connection has called, and requests get numbers of their own */
  seenIn?: (headers: Readonly<Record<string, string>>) => Seen
}

const TEXTUAL = /^(text\/|application\/(json|xml|javascript|x-www-form-urlencoded|[\w.-]+\+json))/i

/** An event of payload version 2.0. */
export type HttpEvent = ReturnType<typeof eventOf>

/**
 * The event that an HTTP API makes of a request, payload version 2.0. The path is decoded, and a `?` that this uncovers
 * cuts it off.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
export function eventOf(request: IncomingMessage, body: Buffer, { api, seenIn = () => ({}) }: EventOptions) {
  const target = sentTarget(request)
  const path = decoded(target.path).split('?')[0] ?? ''
  const headers: Record<string, string> = {}
  for (const [name, values] of Object.entries(request.headersDistinct))
    headers[name] = (values ?? []).join(',')
  const { source = peerOf(request), requestId = randomUUID() } = seenIn(headers)
  const now = new Date()
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: target.query,
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
    ...bodyOf(body, TEXTUAL.test(headers['content-type'] ?? 'text/plain')),
  }
}

/** Path and query, as they were sent. */
export function sentTarget({ url = '/' }: IncomingMessage): { path: string; query: string } {
  const mark = url.indexOf('?')
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) }
}

/** The address at the other end of the connection. */
export const peerOf = ({ socket }: IncomingMessage): string =>
  (socket.remoteAddress ?? '').replace(/^::ffff:/, '')

/** A body as events have it: a text, or base64. */
export const bodyOf = (body: Buffer, isText: boolean) =>
  defined({
    body: body.length > 0 ? body.toString(isText ? 'utf8' : 'base64') : undefined,
    isBase64Encoded: body.length > 0 && !isText,
  })

/** A path decoded; one that cannot be is left alone. */
export function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** The answer of a function, as it is sent. */
export const sentOf = ({
  statusCode,
  headers = {},
  body = '',
  isBase64Encoded,
}: EventAnswer): SentAnswer => ({
  status: statusCode,
  headers,
  payload: Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'),
})

/** Where API Gateway uses other words than the standard. */
const MESSAGES: Readonly<Record<number, string>> = { 413: 'Request Entity Too Large' }

/** What API Gateway itself answers. */
export const ownAnswer = (statusCode: number): EventAnswer => ({
  statusCode,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ message: MESSAGES[statusCode] ?? STATUS_CODES[statusCode] ?? '' }),
})
