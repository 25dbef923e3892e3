import { randomUUID } from 'node:crypto'
import { createRouteFinder } from '../../../infra/local/gateway/routes.ts'
import { unroutedPathReasons } from '../../../infra/local/gateway/unrouted.ts'
import type { AssemblyModel } from '../../../infra/local/template/assembly.ts'
import type { FrontAnswer, FrontEvent } from '../../../shared/http/events.ts'
import type { CallOptions, Reply } from './api.ts'

/**
 * Returns the event of an HTTP API for a request to `<base><path>`. The method LIST becomes the query
 * parameter `list`, as on the host.
 */
export function frontEvent(
  base: string,
  method: string,
  path: string,
  body: unknown,
  { token, headers = {}, from = '127.0.0.1' }: CallOptions,
): FrontEvent {
  const { host, pathname } = new URL(base)
  const [before = '', query = ''] = path.split(/\?(.*)/s)
  const list = method === 'LIST' && !/(^|&)list=/.test(query)
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return {
    version: '2.0',
    rawPath: decoded(`${pathname}${before}`),
    rawQueryString: list ? [query, 'list=true'].filter(part => part !== '').join('&') : query,
    headers: {
      host,
      ...(token ? { 'x-vault-token': token } : {}),
      ...Object.fromEntries(lower),
    },
    requestContext: {
      requestId: randomUUID(),
      domainName: host,
      http: { method: method === 'LIST' ? 'GET' : method, sourceIp: from },
    },
    ...(text ? { body: text } : {}),
    isBase64Encoded: false,
  }
}

// API Gateway keeps a path that it cannot decode
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/**
 * Returns a router that finds the function of a request by the function's name, or by its folder if the
 * function has no route. The router returns an empty text if no function matches.
 */
export function routing(
  model: Pick<AssemblyModel, 'clients'>,
): (method: string, event: FrontEvent) => string {
  const find = createRouteFinder(model.clients)
  return (method, { rawPath = '', requestContext }) =>
    unroutedPathReasons[`${method} ${rawPath}`] ?? find(requestContext?.http?.method ?? '', rawPath) ?? ''
}

/** Converts a function's answer to the reply that a client gets. */
export const replyOf = ({ statusCode, headers, body = '' }: FrontAnswer): Reply => ({
  status: statusCode,
  headers,
  text: body,
  body: body.startsWith('{') ? JSON.parse(body) : undefined,
})
