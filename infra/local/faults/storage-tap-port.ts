import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { endServer, listen } from '../os/loopback.ts'
import { type Connections, newConnections } from '../provider/faults/connections.ts'
import type { StorageFault } from './storage-faults.ts'
import { type StorageTap, storageTap, type Taken } from './storage-tap.ts'

/** A tap that functions reach as they reach the engine. */
export interface StorageTapPort {
  url: string
  tap: StorageTap
  /** connections that are open now are found dead when they are used again */
  drop(): void
  close(): Promise<void>
}

/**
 * A tap over HTTP. Its commands come over HTTP too, so that other processes can give them: `POST /_tap/calls`,
 * `/_tap/reset`, `/_tap/fault`, `/_tap/mend`, `/_tap/drop`, `/_tap/aws`, `/_tap/take`.
 */
export async function startStorageTap(engineUrl: string): Promise<StorageTapPort> {
  const tap = storageTap(engineUrl)
  const connections = newConnections()
  const server = createServer((incoming, response) => {
    const served = incoming.url?.startsWith('/_tap/')
      ? command(tap, connections, incoming, response)
      : pass(tap, connections, incoming, response)
    served.catch(() => response.destroy())
  })
  return {
    url: await listen(server),
    tap,
    drop: connections.drop,
    close: () => {
      tap.close()
      return endServer(server)
    },
  }
}

async function pass(
  tap: StorageTap,
  connections: Connections,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { headers, socket } = incoming
  const body = await contentOf(incoming)
  if (!connections.lives(socket)) return void socket.resetAndDestroy()
  const answer = await tap.pass({
    operation: String(headers['x-amz-target'] ?? '').split('.')[1] ?? '',
    invocation: String(headers['amz-sdk-invocation-id']),
    input: JSON.parse(body.toString('utf8')) as object,
    headers,
    body,
  })
  if (!answer) return void socket.resetAndDestroy()
  response.writeHead(answer.statusCode, { ...answer.headers, 'content-length': answer.body.length })
  response.end(answer.body)
}

async function command(
  tap: StorageTap,
  { drop }: Connections,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = (await contentOf(incoming)).toString('utf8')
  const told = (): unknown => JSON.parse(body)
  if (incoming.url === '/_tap/fault') tap.fault(told() as StorageFault)
  if (incoming.url === '/_tap/drop') drop()
  if (incoming.url === '/_tap/aws') tap.awsLike((told() as { takesFor?: number }).takesFor)
  if (incoming.url === '/_tap/take') tap.take(told() as Taken)
  const answer = JSON.stringify({ calls: tap.calls(), held: tap.held() })
  if (incoming.url === '/_tap/reset') tap.reset()
  if (incoming.url === '/_tap/mend') tap.mend()
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(answer)
}

async function contentOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}
