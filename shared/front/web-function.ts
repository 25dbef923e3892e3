import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Context } from 'aws-lambda'
import { bounds } from '../values/bounds.ts'
import { type EventAnswer, eventOf, type HttpEvent, ownAnswer, sentOf } from './http-api.ts'
import { httpServer } from './http-server.ts'

/** Takes an event of an HTTP API; several may be under way at once. */
type Handler = (event: HttpEvent, context: Context) => Promise<EventAnswer>

/** Bytes of a body: no endpoint takes more, and a hundred requests share the memory of an environment. */
const LARGEST_BODY = 2 ** 20

/** Bytes of a request's head: more than CloudFront lets pass, and what it and Lambda add. */
const LONGEST_HEAD = 32_768

/**
 * Longest that a connection may rest, milliseconds: longer than whoever keeps it is likely to let it, so that no request
 * is sent on one that is being closed.
 */
const CONNECTION_REST_MS = 75_000

/** What events name as their API. */
const API = { accountId: '', apiId: 'web-function' }

/** A Web Function that listens. */
interface WebFunction {
  url: string
  close(): Promise<void>
}

/**
 * Serves a handler as the program of a Lambda Web Function, an HTTP server behind an endpoint of Lambda's. Each request
 * has a time-out of its own; one that is late is answered, and what it does comes to nothing by the limits of its calls.
 * @param at where Lambda wants it to listen
 * @see https://docs.aws.amazon.com/lambda/latest/dg/web-functions-http.html
 */
export async function serveWebFunction(
  handler: Handler,
  at: { host: string; port: number },
): Promise<WebFunction> {
  const server = httpServer({
    answer: async (request, body) =>
      sentOf(await inTime(handler, eventOf(request, body, { api: API, seenIn }))),
    refusal: {
      tooLarge: sentOf(ownAnswer(413)),
      failed: sentOf(ownAnswer(500)),
      twoHosts: sentOf(ownAnswer(400)),
    },
    largestBody: LARGEST_BODY,
    longestHead: LONGEST_HEAD,
  })
  server.keepAliveTimeout = CONNECTION_REST_MS
  server.listen(at.port, at.host)
  await once(server, 'listening')
  return {
    url: `http://${at.host}:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Lambda appends who called its endpoint to what the caller sent, and lets no caller number requests. */
const seenIn = ({
  'x-forwarded-for': chain,
  'lambda-web-request-id': number,
}: Readonly<Record<string, string>>) => ({
  ...(chain === undefined ? {} : { source: chain.split(',').at(-1)?.trim() ?? '' }),
  ...(number === undefined ? {} : { requestId: number }),
})

/** What the handler answers, or 503 when its time is up. What goes wrong leaves the line that Lambda's runtime would leave. */
async function inTime(handler: Handler, event: HttpEvent): Promise<EventAnswer> {
  const deadline = Date.now() + bounds.LOGIN_SECONDS * 1000
  const context = {
    awsRequestId: event.requestContext.requestId,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  } as Context
  const late = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => late.resolve('late'), bounds.LOGIN_SECONDS * 1000)
  try {
    const answer = await Promise.race([handler(event, context), late.promise])
    if (answer !== 'late') return answer
    complain(event, 'Timeout', `Task timed out after ${bounds.LOGIN_SECONDS} seconds`)
    return ownAnswer(503)
  } catch (error) {
    complain(event, 'Error', error instanceof Error ? error.message : String(error))
    return ownAnswer(500)
  } finally {
    clearTimeout(timer)
  }
}

/** An alarm counts these lines by their type. */
function complain({ requestContext }: HttpEvent, type: 'Timeout' | 'Error', errorMessage: string): void {
  // biome-ignore lint/suspicious/noConsole: the console is the runtime's way out
  console.error({ errorType: `WebFunction.${type}`, errorMessage, gateway_id: requestContext.requestId })
}
