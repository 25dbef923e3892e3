import { type ClientRequest, type IncomingMessage, Agent as PlainAgent } from 'node:http'
import { Agent } from 'node:https'
import { unreadableAnswerError } from './wire/service-error.ts'

/**
 * Milliseconds that a kept connection may have been idle and still be used. Routers forget idle connections after
 * some minutes, and a request on a forgotten one may never be answered.
 */
const KEPT_CONNECTION_MS = 60_000

const restingSince = new WeakMap<object, number>()

/** Errors of requests on kept connections, which may have died unnoticed while they were idle. */
const deadConnectionErrors = new WeakSet<Error>()

/**
 * The connections of this environment, kept between requests and shared by all clients. Lambda freezes an
 * environment between two invocations, sometimes for long. The other side closes these connections meanwhile, and
 * the environment notices this only when it sends the next request.
 */
export const httpsAgents = {
  'http:': trackRest(new PlainAgent({ keepAlive: true })),
  'https:': trackRest(new Agent({ keepAlive: true })),
}

function trackRest<A extends PlainAgent>(agent: A): A {
  const { keepSocketAlive, reuseSocket } = agent
  return Object.assign(agent, {
    keepSocketAlive: (socket: Parameters<A['keepSocketAlive']>[0]) => {
      restingSince.set(socket, Date.now())
      return keepSocketAlive.call(agent, socket)
    },
    reuseSocket: (...[socket, request]: Parameters<A['reuseSocket']>) => {
      reuseSocket.call(agent, socket, request)
      request.once('error', (error: Error) => {
        // The cause that ended this connection has probably ended the other kept connections too, so the next
        // request opens a new one.
        closeResting(agent)
        // A request that timed out is not sent again, because its time is used up.
        if (error.name !== 'TimeoutError') deadConnectionErrors.add(error)
      })
    },
  })
}

/**
 * Sends a request over a kept connection if one is open. If the request was sent on a kept connection that turns
 * out to be dead, the request is sent again at once on a new one. The second sending does not count as an attempt.
 * @param send may take effect twice
 */
export async function resendOnDeadConnection<T>(send: () => Promise<T>): Promise<T> {
  for (const agent of Object.values(httpsAgents)) closeResting(agent, Date.now() - KEPT_CONNECTION_MS)
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof Error && deadConnectionErrors.has(error))) throw error
    return send()
  }
}

/**
 * Closes connections that have been idle since before a time, epoch milliseconds. The connections with the longest
 * idle time come first.
 */
function closeResting(agent: PlainAgent, before = Number.POSITIVE_INFINITY): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) {
      if ((restingSince.get(socket) ?? 0) >= before) break
      socket.destroy()
    }
  }
}

/** Calls `late` if the connection of a call takes longer than so many milliseconds. */
export function limitConnectTime(call: ClientRequest, ms: number, late: () => void): void {
  call.once('socket', socket => {
    if (!socket.connecting) return
    const timer = setTimeout(late, ms)
    for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(timer))
  })
}

/** Returns the response to a call. @throws Error when the connection fails, or ends without a response */
export function awaitResponse(call: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    call.on('response', resolve)
    call.on('error', reject)
    // Node ends a call with the answer 101 (Switching Protocols) without a response and without an error.
    const rejectClosed = () => reject(unreadableAnswerError('the connection ended without an answer'))
    call.on('close', rejectClosed)
    // building an error costs processor time, so answered calls build none
    call.on('response', () => call.off('close', rejectClosed))
  })
}

/** Reads a response. @returns undefined when the response is longer than `longest` bytes; the rest is not read */
export function readBodyUpTo(longest: number, response: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= longest) return
      resolve(undefined)
      response.destroy()
    })
    // a response that breaks off has no end event
    response.on('error', reject)
    response.on('end', () => resolve(Buffer.concat(chunks)))
  })
}
