import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { endServer, listen } from '../os/loopback.ts'
import type { Lambdas } from './lambdas.ts'

export interface LambdaService {
  url: string
  close(): Promise<void>
}

const INVOKE = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/

/** The Invoke call of AWS Lambda: functions start background jobs with it, and tests turn schedules by it. */
export async function startLambdaService(
  lambdas: Omit<Lambdas, 'complain' | 'activity'>,
): Promise<LambdaService> {
  const server = createServer((request, response) => {
    serve(lambdas, request, response).catch(() => response.destroy())
  })
  return { url: await listen(server), close: () => endServer(server) }
}

async function serve(
  lambdas: Omit<Lambdas, 'complain' | 'activity'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const answer = (status: number, body: object | null, headers: Record<string, string> = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(status === 202 ? '' : JSON.stringify(body))
  }
  const refuse = (status: number, code: string, Message: string) =>
    answer(status, { Message }, { 'x-amzn-errortype': code })
  const name = functionName(INVOKE.exec(request.url ?? '')?.[1] ?? '')
  if (request.method !== 'POST' || !lambdas.has(name))
    return refuse(404, 'ResourceNotFoundException', 'Function not found')
  const event = eventIn(Buffer.concat(chunks).toString('utf8'))
  if (!event) return refuse(400, 'InvalidRequestContentException', 'Could not parse request body into json')
  if (request.headers['x-amz-invocation-type'] === 'Event') {
    lambdas.start(name, event.value)
    return answer(202, {})
  }
  await lambdas.invoke(name, event.value).then(
    result => answer(200, (result ?? null) as object | null),
    (error: Error) => answer(200, { errorMessage: error.message }, { 'x-amz-function-error': 'Unhandled' }),
  )
}

/** What a body gives a function; undefined when it is no JSON. */
function eventIn(body: string): { value: unknown } | undefined {
  try {
    return { value: body === '' ? {} : JSON.parse(body) }
  } catch {
    return undefined
  }
}

/** A function may be named by its name or its ARN; empty when it is no name at all. */
function functionName(given: string): string {
  try {
    return decodeURIComponent(given).split(':').at(-1) ?? ''
  } catch {
    return ''
  }
}
