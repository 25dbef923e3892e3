import middy from '@middy/core'
import type { Context } from 'aws-lambda'
import { createAwsPorts } from '../adapters/aws/ports.ts'
import { type EndpointGroup, usesOf } from '../api/endpoint.ts'
import { errorCodes, invalidRequestError } from '../api/errors.ts'
import { isRoleRefusal } from '../journal/counted-refusals.ts'
import type { Ports } from '../ports.ts'
import { bounds } from '../values/bounds.ts'
import { defined } from '../values/defined.ts'
import { classifyLoginResult, countProviderFaults, measureLoginLatency } from '../watching/logins.ts'
import { createDispatcher, type ServedRequest } from './dispatch.ts'
import { type FrontAnswer, type FrontEvent, fitsFrontLimit, toFrontAnswer, toHttpRequest } from './events.ts'
import { renderErrorResponse } from './render.ts'

const REQUEST_REST_MS = 4_000

/** Builds the Lambda handler of a group, which accepts events of any front end and several requests at once. */
export function createGroupHandler(
  group: EndpointGroup,
  ports: Ports = createAwsPorts(group.name, usesOf(group)),
) {
  const served = createDispatcher(group, ports)
  return middy<FrontEvent>({ timeoutEarlyInMillis: 0 })
    .use(observe(ports))
    .handler(async (event: FrontEvent, context: Context): Promise<Observed> => {
      const left = context.getRemainingTimeInMillis()
      const deadline = ports.clock.now() + Math.min(bounds.PROVIDER_MS, Math.max(1, left - REQUEST_REST_MS))
      const request = toHttpRequest(event, deadline, ports.deployment.proxy)
      const { value: done, calls } = await ports.meter.measure(() => served(request))
      const hasFailed = done.error && errorCodes[done.error.code].status >= 500
      if (hasFailed || ports.memory.faults?.size) {
        // the module is loaded on the first fault
        const { recordPartFaults } = await import('./note-faults.ts')
        await recordPartFaults({ error: done.error, login: done.login, calls }, ports)
      }
      const value = fitsFrontLimit(event, toFrontAnswer(event, done.response, false)) ? done : refused(done)
      const front = toFrontAnswer(event, value.response, request.method === 'HEAD')
      return { served: value, gatewayId: request.gatewayId, calls, front }
    })
}

/** The result of a request: its log facts and its response. */
interface Observed {
  served: ServedRequest
  gatewayId: string
  calls: Readonly<Record<string, number>>
  front: FrontAnswer
}

/** The middleware state of one request. Concurrent requests do not share this middleware state. */
interface Observing {
  internal: Record<string, unknown>
  response: Observed | FrontAnswer | null
}

/** Writes the log line of a request and passes on its response. */
const observe = (ports: Ports) => ({
  before: ({ internal }: Observing) => {
    internal['started'] = ports.clock.now()
  },
  after: (request: Observing) => {
    const { served, gatewayId, calls, front } = request.response as Observed
    const milliseconds = ports.clock.now() - Number(request.internal['started'])
    if (!served.error || !isRoleRefusal(served.error))
      tell(served, { gateway_id: gatewayId, milliseconds, calls }, ports)
    request.response = front
  },
})

/** Replaces a response that is too large for the front end by an error. */
function refused(served: ServedRequest): ServedRequest {
  const error = invalidRequestError('the response is too large: use the parameters `after` and `limit`')
  const response = renderErrorResponse(error)
  const { 'x-request-id': id = '' } = served.response.headers
  return { ...served, error, response: { ...response, headers: { ...response.headers, 'x-request-id': id } } }
}

/** The cost of a request. */
interface Cost {
  gateway_id: string
  milliseconds: number
  calls: Readonly<Record<string, number>>
}

/**
 * Writes one log line per request: its operation, caller, result and cost. Contains no parameter value except the
 * mount of a login, if that mount exists. The metrics come from the request's log line.
 */
function tell(
  { id, operation, accessor, error, response, login }: ServedRequest,
  cost: Cost,
  { log }: Ports,
): void {
  const { why, service } = error?.reason ?? {}
  const status = error && errorCodes[error.code].status
  const fault = status === undefined ? undefined : { status, why, service }
  const line = defined({
    id,
    operation,
    status: response.status,
    ...cost,
    accessor: accessor || undefined,
    ...(error ? { code: error.code, why } : {}),
    ...(login ? { ...login, ...classifyLoginResult(fault) } : {}),
  })
  const measures = {
    ...countProviderFaults(cost.calls),
    ...(login ? measureLoginLatency(cost.milliseconds) : {}),
  }
  if (error && status !== undefined && status >= 500)
    log.error('request', { ...line, cause: describe(error) }, measures)
  else log.info('request', line, measures)
}

const describe = (error: Error): string[] =>
  error.cause instanceof Error
    ? [error.message, ...describe(error.cause)]
    : [error.message, error.stack ?? '']
