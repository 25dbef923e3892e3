import { ApiError } from '../api/errors.ts'
import type { FrontProxy } from '../ports.ts'
import { checkPeerAddress, clientAddress } from './proxy.ts'
import type { HttpRequest, HttpResponse } from './request.ts'

/** The fields of front-end events that this module reads. */
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
  /** for load balancers with multi-value headers, which ignore `headers` */
  multiValueHeaders?: Record<string, string[]>
  body: string
  isBase64Encoded: false
}

const LONGEST_ID = 256

/** Determines the front end from the shape of the event. */
export function frontOfEvent(event: FrontEvent): keyof typeof fronts {
  if (event.version === '2.0') return 'httpApi'
  return event.requestContext?.elb === undefined ? 'restApi' : 'alb'
}

/**
 * The three front ends with their events. The path must be decoded exactly once: an HTTP API has already decoded
 * it, the other front ends have not. The client's address comes from the front end. Behind a load balancer the
 * client address is the last address of X-Forwarded-For, which the balancer appends.
 * @see docs/spec/transport.md#front-ends
 * @see docs/look-up/unverified.md#paths
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
 * Converts an event to a request.
 * @param deadline epoch milliseconds
 * @param deadline epoch milliseconds
 */
export function toHttpRequest(event: FrontEvent, deadline: number, proxy?: FrontProxy): HttpRequest {
  const { source: peer, ...seen } = fronts[frontOfEvent(event)](event)
  const headers = headersOf(event)
  const bytes = eventBodyBytes(event)
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
    const front = frontOfEvent(event)
    const peer = front === 'alb' ? checkPeerAddress(given) : given
    // a direct invocation has no front end: events from a front end always have a request ID
    const isDirect = front === 'httpApi' && event.requestContext?.requestId === undefined
    return { source: proxy && !isDirect ? clientAddress(proxy, headers, peer) : peer }
  } catch (fault) {
    if (fault instanceof ApiError) return { source: '', fault }
    throw fault
  }
}

/**
 * Returns the request ID of the front end; empty only for a direct invocation. A load balancer has only a trace ID,
 * which clients may omit or empty; in that case the function returns a fixed text.
 */
function gatewayIdOf(event: FrontEvent, headers: HttpRequest['headers']): string {
  if (frontOfEvent(event) === 'alb')
    return headers['x-amzn-trace-id']?.slice(0, LONGEST_ID) || 'a load balancer'
  const id = event.requestContext?.requestId
  return id === undefined ? '' : id || 'a gateway'
}

/** Returns the body of an event. */
export const eventBodyBytes = ({ body, isBase64Encoded }: FrontEvent): Buffer =>
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

// Text that is not valid percent-encoding is marked with a control character, so that the path check rejects it.
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return `${text}\u0000`
  }
}

/** Converts a response to the form that the event's front end expects. */
export const toFrontAnswer = (
  event: FrontEvent,
  { status, headers, body }: HttpResponse,
  head: boolean,
): FrontAnswer => ({
  statusCode: status,
  headers: { ...headers },
  ...(frontOfEvent(event) === 'alb' &&
    event.multiValueHeaders && {
      multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    }),
  body: head ? '' : body,
  isBase64Encoded: false,
})

const MEGABYTE = 1024 * 1024

/** Maximum bytes of a serialised response, by front end: Lambda's limit or the load balancer's. */
const LARGEST_ANSWER = { httpApi: 6 * MEGABYTE, restApi: 6 * MEGABYTE, alb: MEGABYTE }

/** A character takes up to six bytes as JSON (`\u0000`), and the headers some more. */
const MOST_BYTES = 6
const FRAME = 4096

/** Reports whether the front end can carry a response. */
export const fitsFrontLimit = (event: FrontEvent, answer: FrontAnswer): boolean => {
  const largest = LARGEST_ANSWER[frontOfEvent(event)]
  return (
    answer.body.length * MOST_BYTES + FRAME <= largest || Buffer.byteLength(JSON.stringify(answer)) <= largest
  )
}
