import type { IncomingMessage } from 'node:http'
import {
  buildHttpApiEvent,
  createGatewayAnswer,
  type HttpApiAnswer,
  toSentAnswer,
} from '../../../shared/front/http-api.ts'
import type { SentAnswer } from '../../../shared/front/http-server.ts'
import { HOME_ACCOUNT } from '../provider/home.ts'
import type { ApiRoute } from '../template/api-definitions.ts'
import { type BuildListRequestLine, buildFlaggedGetLine } from './list-verb.ts'
import { createRouteFinder, type FindFunction } from './routes.ts'

/** A function's answer. */
export interface FunctionAnswer extends HttpApiAnswer {
  multiValueHeaders?: Record<string, string[]>
}

/** A request as a front end reads it. */
interface Read {
  method: string
  /** path for routes and rules; undefined: the path matches nothing */
  path: string | undefined
  /** decoded path as clients know it */
  whole: string
  event: unknown
}

/** The protocol of a front end towards clients and functions. */
export interface FrontEventShape {
  /** limits in bytes */
  limits: { head: number; body: number }
  /** status for a function that takes too long, and for a function that fails */
  faults: { late: number; failed: number }
  /** replacement of a LIST request line, which Node's parser does not know */
  list: BuildListRequestLine
  read(request: IncomingMessage, body: Buffer): Read
  /** @throws Error if the answer cannot be forwarded */
  answered(answer: FunctionAnswer): SentAnswer
  /** the front end's own answer */
  own(status: number): SentAnswer
}

const LARGEST_BODY = 10 * 1024 * 1024

/** A front end before functions: its protocol, and the search for the function of a request. */
export interface Front {
  shape: FrontEventShape
  find: FindFunction
}

/**
 * Uses events of payload version 2.0. API Gateway does not pass the verb LIST, so LIST becomes the query
 * flag.
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
 * @see docs/look-up/unverified.md#list
 */
const httpApi: FrontEventShape = {
  limits: { head: 10_240, body: LARGEST_BODY },
  faults: { late: 503, failed: 500 },
  list: buildFlaggedGetLine,
  own: status => toSentAnswer(createGatewayAnswer(status)),
  read: (request, body) => {
    const event = buildHttpApiEvent(request, body, {
      api: { accountId: HOME_ACCOUNT.account, apiId: 'local' },
    })
    const { method, path } = event.requestContext.http
    return { method, path, whole: path, event }
  },
  answered: toSentAnswer,
}

/** Creates the front end of an HTTP API with these routes. */
export const createHttpApi = (routes: readonly ApiRoute[]): Front => ({
  shape: httpApi,
  find: createRouteFinder(routes),
})
