import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { linkPath } from '../../../shared/link/routes.ts'
import { defined } from '../../../shared/values/defined.ts'
import { InvocationFault } from '../lambda/environment.ts'
import { endServer, listen } from '../os/loopback.ts'
import { HOME } from '../provider/home.ts'
import { acceptList } from './list-verb.ts'
import { refuseUnreadable } from './unreadable.ts'

export interface Route {
  key: string
  functionName: string
}

export interface GatewayOptions {
  routes: readonly Route[]
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

/**
 * The provider's limits of an HTTP API.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
 */
const LARGEST_BODY = 10 * 1024 * 1024
const LONGEST_HEAD = 10_240

/**
 * An HTTP API: matches routes as AWS does, decodes the path before it calls, answers its own faults in its own
 * shape. Besides, it takes the verb LIST.
 */
export async function startGateway({
  routes,
  port,
  invoke,
  hold = () => undefined,
  extra = {},
}: GatewayOptions): Promise<Gateway> {
  const find = routeFinder(routes)
  const http = createServer({ maxHeaderSize: LONGEST_HEAD }, (request, response) => {
    serve(request, response).catch(() => own(response, 500, 'Internal Server Error'))
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    if (!body) return own(response, 413, 'Request Entity Too Large')
    const event = eventOf(request, body)
    if (!event.rawPath.startsWith(linkPath)) await hold()
    const functionName = extra[`${request.method} ${event.rawPath}`] ?? find(event)
    if (functionName === undefined) return own(response, 404, 'Not Found')
    try {
      const answer = (await invoke(functionName, event)) as Answer
      const payload = Buffer.from(answer.body ?? '', answer.isBase64Encoded ? 'base64' : 'utf8')
      response.writeHead(
        answer.statusCode,
        defined({
          ...answer.headers,
          'content-length': payload.length > 0 ? payload.length : undefined,
        }),
      )
      response.end(payload)
    } catch (error) {
      const late = error instanceof InvocationFault && error.timedOut
      own(response, late ? 503 : 500, late ? 'Service Unavailable' : 'Internal Server Error')
    }
  }

  http.on('connection', acceptList)
  http.on('clientError', (error, socket) => refuseUnreadable(error, socket as Socket))
  return { url: await listen(http, port), close: () => endServer(http) }
}

interface Answer {
  statusCode: number
  headers?: Record<string, string>
  body?: string
  isBase64Encoded?: boolean
}

/** What API Gateway itself answers. */
function own(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return
  const body = JSON.stringify({ message })
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

/** Undefined when it is too large: it is read to its end all the same, for only then will the client listen. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= LARGEST_BODY) chunks.push(chunk)
  }
  return size <= LARGEST_BODY ? Buffer.concat(chunks) : undefined
}

const TEXTUAL = /^(text\/|application\/(json|xml|javascript|x-www-form-urlencoded|[\w.-]+\+json))/

/** An event of payload version 2.0. The path is decoded, and a `?` that this uncovers cuts it off. */
function eventOf(request: IncomingMessage, body: Buffer) {
  const target = request.url ?? '/'
  const mark = target.indexOf('?')
  const path = decoded(mark < 0 ? target : target.slice(0, mark)).split('?')[0] ?? ''
  const rawQueryString = mark < 0 ? '' : target.slice(mark + 1)
  const headers: Record<string, string> = {}
  for (const [name, values] of Object.entries(request.headersDistinct))
    headers[name] = (values ?? []).join(',')
  const text = TEXTUAL.test(headers['content-type'] ?? 'text/plain')
  const now = new Date()
  return defined({
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString,
    headers,
    requestContext: {
      accountId: HOME.account,
      apiId: 'local',
      domainName: headers['host'] ?? 'localhost',
      http: {
        method: request.method ?? 'GET',
        path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: (request.socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: randomUUID(),
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

/**
 * The route of a request: whole paths before greedy ones, fixed segments before variables, then `$default`.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
 */
export function routeFinder(routes: readonly Route[]) {
  const parsed = routes.flatMap(({ key, functionName }) => {
    const [method = '', path = ''] = key.split(' ')
    return key === '$default' ? [] : [{ method, parts: path.split('/'), functionName }]
  })
  const fallback = routes.find(route => route.key === '$default')?.functionName
  return ({
    requestContext,
    rawPath,
  }: {
    requestContext: { http: { method: string } }
    rawPath: string
  }): string | undefined => {
    const given = rawPath.split('/')
    const { method } = requestContext.http
    const hits = parsed
      .filter(route => route.method === 'ANY' || route.method === method)
      .flatMap(route => {
        const rank = rankOf(route.parts, given)
        return rank === undefined ? [] : [{ rank, functionName: route.functionName }]
      })
    hits.sort((a, b) => (a.rank < b.rank ? -1 : 1))
    return hits[0]?.functionName ?? fallback
  }
}

/** How specific a match is, as text that sorts; undefined when the route does not match. */
function rankOf(parts: readonly string[], given: readonly string[]): string | undefined {
  const greedy = parts.at(-1)?.endsWith('+}') ?? false
  const fixed = greedy ? parts.slice(0, -1) : parts
  if (greedy ? given.length <= fixed.length : given.length !== fixed.length) return undefined
  const kinds = fixed.map((part, index) =>
    part === given[index] ? 'a' : part.startsWith('{') && given[index] !== '' ? 'b' : undefined,
  )
  // the longer one first, where one is the beginning of the other
  return kinds.includes(undefined) ? undefined : `${greedy ? '2' : '1'}${kinds.join('')}c`
}
