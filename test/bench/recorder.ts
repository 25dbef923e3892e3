import { createServer, type IncomingMessage } from 'node:http'
import { engineWire } from '../../infra/local/engine/wire.ts'
import { endServer, listen } from '../../infra/local/os/loopback.ts'

/** A call to the tables as it was sent, and what the engine answered. */
export interface Recorded {
  operation: string
  body: string
  answer: string
}

/** Where calls go by on their way to the engine, and are written down. */
export async function startRecorder(engineUrl: string) {
  const engine = engineWire(engineUrl)
  const calls: Recorded[] = []
  const server = createServer(async (incoming, response) => {
    const body = await contentOf(incoming)
    const { statusCode, headers, body: answer } = await engine.send({ headers: incoming.headers, body })
    const operation = operationOf(incoming)
    if (statusCode === 200) calls.push({ operation, body: body.toString(), answer: answer.toString() })
    response.writeHead(statusCode, { ...headers, 'content-length': answer.length })
    response.end(answer)
  })
  return {
    url: await listen(server),
    calls,
    close: () => {
      engine.close()
      return endServer(server)
    },
  }
}

/** An engine that knows what was recorded, and answers that at once. */
export async function startPlayer(recorded: readonly Recorded[]) {
  const answers = new Map(recorded.map(({ body, answer }) => [body, Buffer.from(answer)]))
  const server = createServer(async (incoming, response) => {
    const answer = answers.get((await contentOf(incoming)).toString())
    const length = { 'content-type': 'application/x-amz-json-1.0', 'content-length': answer?.length ?? 0 }
    response.writeHead(answer ? 200 : 400, length)
    response.end(answer)
  })
  return { url: await listen(server), close: () => endServer(server) }
}

const operationOf = ({ headers }: IncomingMessage): string =>
  String(headers['x-amz-target'] ?? '').split('.')[1] ?? ''

function contentOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => resolve(Buffer.concat(chunks)))
    incoming.on('error', reject)
  })
}
