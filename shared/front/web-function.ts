import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Context } from 'aws-lambda'
import { bounds } from '../values/bounds.ts'
import {
  buildHttpApiEvent,
  createGatewayAnswer,
  type HttpApiAnswer,
  type HttpEvent,
  toSentAnswer,
} from './http-api.ts'
import { createHttpServer } from './http-server.ts'

/** Handles an event of an HTTP API; several events may be processed at once. */
type Handler = (event: HttpEvent, context: Context) => Promise<HttpApiAnswer>

/** Maximum bytes of a body. No endpoint accepts more, and a hundred concurrent requests share an environment's memory. */
const LARGEST_BODY = 2 ** 20

/** Maximum bytes of a request's head: more than CloudFront accepts, plus what CloudFront and Lambda add. */
const LONGEST_HEAD = 32_768

/** Idle time of a connection, milliseconds. Longer than clients are likely to keep it, so that no request meets a closing connection. */
const CONNECTION_REST_MS = 75_000

/** The API in events. */
const API = { accountId: '', apiId: 'web-function' }

/** A running Web Function. */
interface WebFunction {
  url: string
  close(): Promise<void>
}

/**
 * Serves a handler as the program of a Lambda Web Function, an HTTP server behind a Lambda endpoint. Each request has its own time-out.
 * A late request gets 503, and the limits of its calls end its work.
 * @param at host and port that Lambda expects
 * @see https://docs.aws.amazon.com/lambda/latest/dg/web-functions-http.html
 */
export async function serveWebFunction(
  handler: Handler,
  at: { host: string; port: number },
): Promise<WebFunction> {
  const server = createHttpServer({
    answer: async (request, body) =>
      toSentAnswer(await inTime(handler, buildHttpApiEvent(request, body, { api: API, seenIn }))),
    refusal: {
      tooLarge: toSentAnswer(createGatewayAnswer(413)),
      failed: toSentAnswer(createGatewayAnswer(500)),
      twoHosts: toSentAnswer(createGatewayAnswer(400)),
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

/** Reads the client address and the request ID. Lambda appends the client's address to the header, and overwrites the ID. */
const seenIn = ({
  'x-forwarded-for': chain,
  'lambda-web-request-id': number,
}: Readonly<Record<string, string>>) => ({
  ...(chain === undefined ? {} : { source: chain.split(',').at(-1)?.trim() ?? '' }),
  ...(number === undefined ? {} : { requestId: number }),
})

/** Runs the handler, or returns 503 when its time is up. Errors log the same line as Lambda's runtime. */
async function inTime(handler: Handler, event: HttpEvent): Promise<HttpApiAnswer> {
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
    return createGatewayAnswer(503)
  } catch (error) {
    complain(event, 'Error', error instanceof Error ? error.message : String(error))
    return createGatewayAnswer(500)
  } finally {
    clearTimeout(timer)
  }
}

/** Logs an error. An alarm counts these lines by their type. */
function complain({ requestContext }: HttpEvent, type: 'Timeout' | 'Error', errorMessage: string): void {
  // biome-ignore lint/suspicious/noConsole: the console is the runtime's way out
  console.error({ errorType: `WebFunction.${type}`, errorMessage, gateway_id: requestContext.requestId })
}
