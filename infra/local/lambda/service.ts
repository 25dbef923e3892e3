import { parseJson } from '../../../shared/values/json.ts'
import { type ListeningServer, startLoopbackServer } from '../os/loopback.ts'
import {
  createTextAnswer,
  type HttpAnswer,
  requestHeaderOf,
  type WireRequest,
} from '../provider/wire/http.ts'
import { type AccessKeyPair, createSignedServer } from '../provider/wire/signed-server.ts'
import type { LocalLambdas } from './lambdas.ts'

const INVOKE = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/

/** Maximum bytes of an event. @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const LARGEST_EVENT = 6 * 1024 * 1024

/**
 * Starts Lambda's Invoke API. Functions use this API to start background jobs, and tests use it to trigger
 * schedules.
 * @param keys access keys of allowed callers
 */
export const startLambdaApi = (
  lambdas: Omit<LocalLambdas, 'logError' | 'activity'>,
  keys: readonly AccessKeyPair[],
): Promise<ListeningServer> =>
  startLoopbackServer(createSignedServer(keys, request => serve(lambdas, request), LARGEST_EVENT))

async function serve(
  lambdas: Omit<LocalLambdas, 'logError' | 'activity'>,
  request: WireRequest,
): Promise<HttpAnswer> {
  const name = functionName(INVOKE.exec(request.path)?.[1] ?? '')
  if (request.method !== 'POST' || !lambdas.has(name))
    return refusal(404, 'ResourceNotFoundException', 'Function not found')
  const event = parseJson(request.body.toString('utf8') || '{}')
  if (event === undefined)
    return refusal(400, 'InvalidRequestContentException', 'Could not parse request body into json')
  if (requestHeaderOf(request, 'x-amz-invocation-type') === 'Event') {
    lambdas.start(name, event)
    return answer(202, '')
  }
  return lambdas.invoke(name, event).then(
    result => answer(200, JSON.stringify(result ?? null)),
    (error: Error) =>
      answer(200, JSON.stringify({ errorMessage: error.message }), { 'x-amz-function-error': 'Unhandled' }),
  )
}

function answer(status: number, body: string, more: Record<string, string> = {}): HttpAnswer {
  const plain = createTextAnswer(status, 'application/json', body)
  return { ...plain, headers: { ...plain.headers, ...more } }
}

const refusal = (status: number, code: string, Message: string): HttpAnswer =>
  answer(status, JSON.stringify({ Message }), { 'x-amzn-errortype': code })

/** Returns the function name from a name or an ARN. Empty: the text is neither a name nor an ARN. */
function functionName(given: string): string {
  try {
    return decodeURIComponent(given).split(':').at(-1) ?? ''
  } catch {
    return ''
  }
}
