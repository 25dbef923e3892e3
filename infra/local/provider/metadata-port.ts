import type { Server } from 'node:http'
import { listenOnLoopback, serverUrlOf } from '../os/loopback.ts'
import { answerMetadata } from './services/imds.ts'
import type { ImitatedAws } from './state/imitated-aws.ts'
import { createTextAnswer } from './wire/http.ts'
import { createWireServer } from './wire/server.ts'

/** An instance, and the port of its metadata service; 0 or absent: any free port. */
export interface MetadataPort {
  account: string
  region: string
  instanceId: string
  port?: number | undefined
}

/**
 * Serves the metadata of one instance on its own port. Many clients take only host and port from the address,
 * and request `/latest/…` at this port. A repeated call returns the same address.
 * @throws Error if the port is taken
 */
export async function startMetadataPort(
  aws: ImitatedAws,
  { account, region, instanceId, port = 0 }: MetadataPort,
): Promise<{ url: string }> {
  const path = `/imds/${account}/${region}/${instanceId}`
  const listening = aws.metadataPorts.get(path) ?? opened(aws, path, port)
  aws.metadataPorts.set(path, listening)
  try {
    return { url: serverUrlOf(await listening) }
  } catch (error) {
    aws.metadataPorts.delete(path)
    throw error
  }
}

async function opened(aws: ImitatedAws, path: string, port: number): Promise<Server> {
  const server = createWireServer(
    request =>
      answerMetadata(aws, { ...request, path: path + request.path }) ??
      Promise.resolve(createTextAnswer(404, 'text/plain', 'Not Found')),
    aws,
  )
  await listenOnLoopback(server, port)
  return server
}
