import middy from '@middy/core'
import type { Context } from 'aws-lambda'
import { awsPorts } from '../adapters/aws/ports.ts'
import { type Group, usesOf } from '../api/endpoint.ts'
import { answers } from '../api/errors.ts'
import type { Ports } from '../ports.ts'
import { type Served, serve } from './dispatch.ts'
import { answerOf, type FrontEvent, requestOf } from './events.ts'

/** Time for calls to the provider in one request, and what is left for everything else (architecture 4). */
const PROVIDER_MS = 10_000
const REST_MS = 4_000

/** The Lambda handler of a group: an event of any front end in, its answer out. */
export function groupHandler(group: Group, ports: Ports = awsPorts(group.name, usesOf(group))) {
  const served = serve(group, ports)
  return middy<FrontEvent>({ timeoutEarlyInMillis: 0 })
    .use(observe(ports))
    .handler(async (event: FrontEvent, context: Context) => {
      const left = context.getRemainingTimeInMillis()
      const request = requestOf(event, ports.clock.now() + Math.min(PROVIDER_MS, Math.max(1, left - REST_MS)))
      const result = await served(request)
      return { ...result, front: answerOf(result.response, request.method === 'HEAD') }
    })
}

type Observed = Served & { front: ReturnType<typeof answerOf> }

/** One line per request: what it was, who called, how it ended, what it cost. Never a value of a parameter. */
function observe({ log, meter, clock }: Ports) {
  let started = 0
  return {
    before: () => {
      started = clock.now()
      meter.take()
    },
    after: (request: { response: Observed | ReturnType<typeof answerOf> | null }) => {
      const { operation, accessor, error, response, front } = request.response as Observed
      const line = {
        operation,
        status: response.status,
        milliseconds: clock.now() - started,
        calls: meter.take(),
        ...(accessor === '' ? {} : { accessor }),
        ...(error ? { code: error.code, why: error.reason?.['why'] } : {}),
      }
      if (error && answers[error.code].status >= 500)
        log.error('request', { ...line, cause: describe(error) })
      else log.info('request', line)
      request.response = front
    },
  }
}

const describe = (error: Error): string[] =>
  error.cause instanceof Error
    ? [error.message, ...describe(error.cause)]
    : [error.message, error.stack ?? '']
