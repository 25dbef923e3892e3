import type { IncomingMessage } from 'node:http'
import { createHttpServer, type SentAnswer } from '../../../shared/front/http-server.ts'
import { linkPath } from '../../../shared/link/routes.ts'
import { InvocationFault } from '../lambda/environment.ts'
import { type ListeningServer, startLoopbackServer } from '../os/loopback.ts'
import { type CountMetric, metricOfFront } from '../template/counts.ts'
import type { FrontModel } from '../template/fronts.ts'
import { acceptListRequests } from './list-verb.ts'
import { createFunctionFinder } from './routes.ts'
import { type FunctionAnswer, getFrontEventShape } from './shapes.ts'

export interface LocalGatewayOptions {
  front: FrontModel
  port: number
  invoke: (functionName: string, event: unknown) => Promise<unknown>
  /** returns the promise that requests wait for, except requests of the link */
  hold?: () => Promise<void> | undefined
  /** paths that only this host serves, by method and path */
  extra?: Readonly<Record<string, string>>
  /** called for each 5xx answer */
  count?: CountMetric
}

/**
 * Starts an imitation of the API in front of functions. The gateway finds the function of a request, and converts
 * request and answer.
 */
export async function startLocalGateway({
  front,
  port,
  invoke,
  hold = () => undefined,
  extra = {},
  count = () => undefined,
}: LocalGatewayOptions): Promise<ListeningServer> {
  const find = createFunctionFinder(front)
  const shape = getFrontEventShape(front)
  const { limits, faults, own } = shape
  async function answer(request: IncomingMessage, body: Buffer): Promise<SentAnswer> {
    const { method, path, whole, event } = shape.read(request, body)
    if (path === undefined) return own(403)
    if (!path.startsWith(linkPath)) await hold()
    const functionName = extra[`${method} ${whole}`] ?? find(method, path)
    if (functionName === undefined) return own(404)
    try {
      const answered = shape.answered((await invoke(functionName, event)) as FunctionAnswer)
      if (answered.status >= 500) count(metricOfFront(front, 'function'))
      return answered
    } catch (error) {
      count(metricOfFront(front, 'front'))
      return own(error instanceof InvocationFault && error.timedOut ? faults.late : faults.failed)
    }
  }
  const http = createHttpServer({
    answer,
    refusal: { tooLarge: own(413), failed: own(faults.failed), twoHosts: own(400) },
    largestBody: limits.body,
    longestHead: limits.head,
  })
  http.on('connection', socket => acceptListRequests(socket, shape.list))
  return startLoopbackServer(http, port)
}
