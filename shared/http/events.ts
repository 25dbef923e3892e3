import { ApiError } from '../api/errors.ts'
import type { FrontProxy } from '../ports.ts'
import { checkPeer, clientAddress } from './proxy.ts'
import type { HttpRequest, HttpResponse } from './request.ts'

/** What all events of HTTP front ends have, as far as it is read here. */
export interface FrontEvent {
  version?: string
  rawPath?: string
  rawQueryString?: string
  path?: string
  httpMethod?: string
  headers?: Record<string, string | undefined> | null
  multiValueHeaders?: Record<string, string[] | undefined> | null
  queryStringParameters?: Record<string, string | undefined> | null
  multiValueQueryStringParameters?: Record<string, string[] | undefined> | null
  body?: string | null
  isBase64Encoded?: boolean
  requestContext?: {
    elb?: unknown
    requestId?: string
    domainName?: string
    http?: { method?: string; sourceIp?: string }
    identity?: { sourceIp?: string }
  }
}

export interface FrontAnswer {
  statusCode: number
  headers: Record<string, string>
  /** for load balancers with multi-value headers switched on, which ignore `headers` */
  multiValueHeaders?: Record<string, string[]>
  body: string
  isBase64Encoded: false
}

const LONGEST_ID = 256

/** Which front end sent an event: its shape says so. */
export function frontOf(event: FrontEvent): keyof typeof fronts {
  if (event.version === '2.0') return 'httpApi'
  return event.requestContext?.elb === undefined ? 'restApi' : 'alb'
}

/**
 * The three front ends. They differ in who has decoded the path: an HTTP API has, the others have not, and it
 * must be decoded exactly once. The caller's address comes from the front end's own knowledge; behind a load
 * balancer that is the last address of X-Forwarded-For, which the balancer itself appended.
 * @see docs/spec/transport.md#front-ends
 */
const fronts = {
  httpApi: (event: FrontEvent) => ({
    method: event.requestContext?.http?.method ?? '',
    path: event.rawPath ?? '',
    query: [...new URLSearchParams(event.rawQueryString ?? '')],
    source: event.requestContext?.http?.sourceIp ?? '',
  }),
  restApi: (event: FrontEvent) => ({
    method: event.httpMethod ?? '',
    path: decoded(event.path ?? ''),
    query: listed(event, text => text),
    source: event.requestContext?.identity?.sourceIp ?? '',
  }),
  alb: (event: FrontEvent) => ({
    method: event.httpMethod ?? '',
    path: decoded(event.path ?? ''),
    query: listed(event, decoded),
    source: headersOf(event)['x-forwarded-for']?.split(',').at(-1)?.trim() ?? '',
  }),
}

/**
 * An event as a request.
 * @param deadline epoch milliseconds
 * @param proxy what stands before the front end, if anything does
 */
export function requestOf(event: FrontEvent, deadline: number, proxy?: FrontProxy): HttpRequest {
  const { source: peer, ...seen } = fronts[frontOf(event)](event)
  const headers = headersOf(event)
  const bytes = bytesOf(event)
  return {
    ...seen,
    headers,
    body: bytes.toString('utf8'),
    bodyLength: bytes.length,
    ...callerOf(event, headers, peer, proxy),
    domain: event.requestContext?.domainName ?? '',
    gatewayId: gatewayIdOf(event, headers),
    deadline,
  }
}

function callerOf(
  event: FrontEvent,
  headers: HttpRequest['headers'],
  given: string,
  proxy: FrontProxy | undefined,
): Pick<HttpRequest, 'source' | 'fault'> {
  try {
    const front = frontOf(event)
    const peer = front === 'alb' ? checkPeer(given) : given
    // invoked by who may invoke the function: no front end was there, whose events always have a number
    const isDirect = front === 'httpApi' && event.requestContext?.requestId === undefined
    return { source: proxy && !isDirect ? clientAddress(proxy, headers, peer) : peer }
  } catch (fault) {
    if (fault instanceof ApiError) return { source: '', fault }
    throw fault
  }
}

/**
 * Returns the front end's number of a request; empty for a direct invocation alone, whose event has no number. A load
 * balancer gives no number but that of a trace, which callers may leave out or set to an empty text.
 */
function gatewayIdOf(event: FrontEvent, headers: HttpRequest['headers']): string {
  if (frontOf(event) === 'alb') return headers['x-amzn-trace-id']?.slice(0, LONGEST_ID) || 'a load balancer'
  const id = event.requestContext?.requestId
  return id === undefined ? '' : id || 'a gateway'
}

/** The body of an event. */
export const bytesOf = ({ body, isBase64Encoded }: FrontEvent): Buffer =>
  Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8')

function headersOf({ headers, multiValueHeaders }: FrontEvent): Record<string, string> {
  const all: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers ?? {})) all[name.toLowerCase()] = value ?? ''
  for (const [name, values] of Object.entries(multiValueHeaders ?? {}))
    all[name.toLowerCase()] = (values ?? []).join(',')
  return all
}

function listed(event: FrontEvent, decode: (text: string) => string): [string, string][] {
  const many = event.multiValueQueryStringParameters
  const pairs = many
    ? Object.entries(many).flatMap(([name, values]) => (values ?? []).map(value => [name, value] as const))
    : Object.entries(event.queryStringParameters ?? {}).map(([name, value]) => [name, value ?? ''] as const)
  return pairs.map(([name, value]) => [decode(name), decode(value)])
}

// Text that is not valid percent-encoding cannot be any endpoint's path; it is refused as illegal.
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return `${text}\u0000`
  }
}

/** A response in the shape that the front end of an event takes. */
export const answerOf = (
  event: FrontEvent,
  { status, headers, body }: HttpResponse,
  head: boolean,
): FrontAnswer => ({
  statusCode: status,
  headers: { ...headers },
  ...(frontOf(event) === 'alb' &&
    event.multiValueHeaders && {
      multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    }),
  body: head ? '' : body,
  isBase64Encoded: false,
})

const MEGABYTE = 1024 * 1024

/** Bytes of an answer as Lambda's runtime serialises it: what Lambda takes, and what a load balancer takes. */
const LARGEST_ANSWER = { httpApi: 6 * MEGABYTE, restApi: 6 * MEGABYTE, alb: MEGABYTE }

/** A character may come to six bytes, `\u0000`, and the headers to some more. */
const MOST_BYTES = 6
const FRAME = 4096

/** Whether a front end can carry an answer. */
export const isCarried = (event: FrontEvent, answer: FrontAnswer): boolean => {
  const largest = LARGEST_ANSWER[frontOf(event)]
  return (
    answer.body.length * MOST_BYTES + FRAME <= largest || Buffer.byteLength(JSON.stringify(answer)) <= largest
  )
}
