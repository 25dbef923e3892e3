import type { IncomingMessage } from 'node:http'
import { createHttpServer, type SentAnswer } from '../../../shared/front/http-server.ts'
import { linkPath } from '../../../shared/link/routes.ts'
import { InvocationFault } from '../lambda/environment.ts'
import { type ListeningServer, startLoopbackServer } from '../os/loopback.ts'
import { acceptListRequests } from './list-verb.ts'
import type { Front, FunctionAnswer } from './shapes.ts'

export interface LocalGatewayOptions {
  front: Front
  port: number
  invoke: (functionName: string, event: unknown) => Promise<unknown>
  /** returns the promise that requests wait for, except requests of the link */
  hold?: () => Promise<void> | undefined
  /** paths that only this host serves, by method and path */
  extra?: Readonly<Record<string, string>>
  /** called for each 5xx answer, with its sender: the function or the front end itself */
  onServerError?: (by: 'function' | 'front') => void
}

/**
 * Starts an imitation of the API in front of functions. The gateway finds the function of a request, and converts
 * request and answer.
 */
export async function startLocalGateway({
  front: { find, shape },
  port,
  invoke,
  hold = () => undefined,
  extra = {},
  onServerError = () => undefined,
}: LocalGatewayOptions): Promise<ListeningServer> {
  const { limits, faults, own } = shape
  async function answer(request: IncomingMessage, body: Buffer): Promise<SentAnswer> {
    const { method, path, whole, event } = shape.read(request, body)
    if (path === undefined) return own(403)
    if (!path.startsWith(linkPath)) await hold()
    const functionName = extra[`${method} ${whole}`] ?? find(method, path)
    if (functionName === undefined) return own(404)
    try {
      const answered = shape.answered((await invoke(functionName, event)) as FunctionAnswer)
      if (answered.status >= 500) onServerError('function')
      return answered
    } catch (error) {
      onServerError('front')
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
