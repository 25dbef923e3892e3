import { randomUUID } from 'node:crypto'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { defined } from '../values/defined.ts'
import type { SentAnswer } from './http-server.ts'

/** The response of a function to an event. */
export interface HttpApiAnswer {
  statusCode: number
  headers?: Record<string, string>
  body?: string
  isBase64Encoded?: boolean
}

/** The client address and the request ID, as the front end reports them. */
interface Seen {
  source?: string
  requestId?: string
}

interface EventOptions {
  /** account and API ID in events */
  api: { accountId: string; apiId: string }
  /** default: the peer of the connection is the client, and requests get new IDs */
  seenIn?: (headers: Readonly<Record<string, string>>) => Seen
}

const TEXTUAL = /^(text\/|application\/(json|xml|javascript|x-www-form-urlencoded|[\w.-]+\+json))/i

/** An event of payload version 2.0. */
export type HttpEvent = ReturnType<typeof buildHttpApiEvent>

/**
 * Builds the event that an HTTP API sends for a request, payload version 2.0. The path is decoded and cut at a `?` that decoding reveals.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 * @see docs/look-up/unverified.md#paths
 */
export function buildHttpApiEvent(
  request: IncomingMessage,
  body: Buffer,
  { api, seenIn = () => ({}) }: EventOptions,
) {
  const target = splitRequestTarget(request)
  const path = decodePath(target.path).split('?')[0] ?? ''
  const headers: Record<string, string> = {}
  for (const [name, values] of Object.entries(request.headersDistinct))
    headers[name] = (values ?? []).join(',')
  const { source = peerAddressOf(request), requestId = randomUUID() } = seenIn(headers)
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
    ...toEventBody(body, TEXTUAL.test(headers['content-type'] ?? 'text/plain')),
  }
}

/** Returns path and query as sent. */
export function splitRequestTarget({ url = '/' }: IncomingMessage): { path: string; query: string } {
  const mark = url.indexOf('?')
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) }
}

/** Returns the address of the connection's peer. */
export const peerAddressOf = ({ socket }: IncomingMessage): string =>
  (socket.remoteAddress ?? '').replace(/^::ffff:/, '')

/** Returns a body in the form of an event: text or base64. */
export const toEventBody = (body: Buffer, isText: boolean) =>
  defined({
    body: body.length > 0 ? body.toString(isText ? 'utf8' : 'base64') : undefined,
    isBase64Encoded: body.length > 0 && !isText,
  })

/** Decodes a path; returns an invalid one unchanged. */
export function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Converts a function's response to the form that is sent. */
export const toSentAnswer = ({
  statusCode,
  headers = {},
  body = '',
  isBase64Encoded,
}: HttpApiAnswer): SentAnswer => ({
  status: statusCode,
  headers,
  payload: Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'),
})

/** Reason phrases in which API Gateway differs from the standard. */
const MESSAGES: Readonly<Record<number, string>> = { 413: 'Request Entity Too Large' }

/** Builds a response of API Gateway itself. */
export const createGatewayAnswer = (statusCode: number): HttpApiAnswer => ({
  statusCode,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ message: MESSAGES[statusCode] ?? STATUS_CODES[statusCode] ?? '' }),
})
