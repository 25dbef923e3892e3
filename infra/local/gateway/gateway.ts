import { type EventAnswer, type HttpEvent, httpServer, ownAnswer } from '../../../shared/front/http-server.ts'
import { linkPath } from '../../../shared/link/routes.ts'
import { InvocationFault } from '../lambda/environment.ts'
import { endServer, listen } from '../os/loopback.ts'
import { HOME } from '../provider/home.ts'
import { acceptList } from './list-verb.ts'

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

/** An HTTP API: matches routes as AWS does, and answers its own faults in its own shape. Besides, it takes the verb LIST. */
export async function startGateway({
  routes,
  port,
  invoke,
  hold = () => undefined,
  extra = {},
}: GatewayOptions): Promise<Gateway> {
  const find = routeFinder(routes)
  async function answer(event: HttpEvent): Promise<EventAnswer> {
    if (!event.rawPath.startsWith(linkPath)) await hold()
    const functionName = extra[`${event.requestContext.http.method} ${event.rawPath}`] ?? find(event)
    if (functionName === undefined) return ownAnswer(404)
    try {
      return (await invoke(functionName, event)) as EventAnswer
    } catch (error) {
      return ownAnswer(error instanceof InvocationFault && error.timedOut ? 503 : 500)
    }
  }
  const http = httpServer({
    answer,
    largestBody: LARGEST_BODY,
    longestHead: LONGEST_HEAD,
    api: { accountId: HOME.account, apiId: 'local' },
  })
  http.on('connection', acceptList)
  return { url: await listen(http, port), close: () => endServer(http) }
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
