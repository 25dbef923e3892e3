import type { Server } from 'node:http'
import { listen, urlOf } from '../loopback.ts'
import { answerMetadata } from './services/imds.ts'
import type { World } from './state/world.ts'
import { textAnswer } from './wire/http.ts'
import { serverOf } from './wire/server.ts'

/** An instance, and a port for its metadata service; 0 or absent takes any free one. */
export interface MetadataPort {
  account: string
  region: string
  instanceId: string
  port?: number | undefined
}

/**
 * The metadata service of one instance, on a port of its own: many clients keep host and port of the address they are
 * given, and ask for `/latest/…` there. Asked for again, the address is the same.
 *
 * @throws when the port is taken
 */
export async function metadataPort(
  world: World,
  { account, region, instanceId, port = 0 }: MetadataPort,
): Promise<{ url: string }> {
  const path = `/imds/${account}/${region}/${instanceId}`
  const listening = world.metadataPorts.get(path) ?? opened(world, path, port)
  world.metadataPorts.set(path, listening)
  try {
    return { url: urlOf(await listening) }
  } catch (error) {
    world.metadataPorts.delete(path)
    throw error
  }
}

async function opened(world: World, path: string, port: number): Promise<Server> {
  const server = serverOf(
    world,
    request =>
      answerMetadata(world, { ...request, path: path + request.path }) ??
      Promise.resolve(textAnswer(404, 'text/plain', 'Not Found')),
  )
  await listen(server, port)
  return server
}
