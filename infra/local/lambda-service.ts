import { createServer } from 'node:http'
import type { Lambdas } from './lambdas.ts'
import { endServer, listen } from './loopback.ts'

export interface LambdaService {
  url: string
  close(): Promise<void>
}

const INVOKE = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/

/** The Invoke call of AWS Lambda: functions start background jobs with it, and tests turn schedules by it. */
export async function startLambdaService(lambdas: Omit<Lambdas, 'complain'>): Promise<LambdaService> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const name = functionName(decodeURIComponent(INVOKE.exec(request.url ?? '')?.[1] ?? ''))
      const answer = (status: number, body: string, headers: Record<string, string> = {}) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(body)
      }
      if (request.method !== 'POST' || !lambdas.has(name)) {
        return answer(404, JSON.stringify({ Message: 'Function not found' }), {
          'x-amzn-errortype': 'ResourceNotFoundException',
        })
      }
      const event: unknown = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString('utf8')) : {}
      if (request.headers['x-amz-invocation-type'] === 'Event') {
        lambdas.start(name, event)
        return answer(202, '')
      }
      lambdas.invoke(name, event).then(
        result => answer(200, JSON.stringify(result ?? null)),
        (error: Error) =>
          answer(200, JSON.stringify({ errorMessage: error.message }), {
            'x-amz-function-error': 'Unhandled',
          }),
      )
    })
  })
  return { url: await listen(server), close: () => endServer(server) }
}

/** A function may be named by its name or its ARN. */
const functionName = (given: string): string => given.split(':').at(-1) ?? ''
