import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'

const LOOPBACK = '127.0.0.1'

/**
 * Makes a server listen on loopback.
 * @param port 0: any free one
 * @returns `http://127.0.0.1:<port>`
 * @throws with the code `EADDRINUSE` when the port is in use
 */
export async function listen(server: Server, port = 0): Promise<string> {
  server.listen(port, LOOPBACK)
  await once(server, 'listening')
  // a connection that cannot be accepted, for want of descriptors, say, is lost to its client, not to all
  server.on('error', () => undefined)
  return urlOf(server)
}

/** A server that listens on loopback. */
export interface Listening {
  url: string
  close(): Promise<void>
}

/** Starts an HTTP server on loopback. @throws as `listen` */
export const startServer = async (server: HttpServer, port = 0): Promise<Listening> => ({
  url: await listen(server, port),
  close: () => endServer(server),
})

/** The address of a server that listens. */
export const urlOf = (server: Server): string =>
  `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`

/** Ends an HTTP server at once: its connections are cut. */
export async function endServer(server: HttpServer): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

/** A port that was free a moment ago, for processes that have to be told one. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const { port } = new URL(await listen(server))
  await release(server)
  return Number(port)
}

/** Out of the range from which systems give ports to connections, so that nobody else has it after a restart. */
const STEADY = { from: 10_000, count: 10_000 }

/** Ports that one process tries first. Processes that start at the same time have other numbers, and so other ports. */
const OF_PROCESS = 25
let tried = 0

/** A port that is free, for those who want to have it again when they start the next time. */
export async function steadyPort(): Promise<number> {
  for (let count = 0; count < 100; count++) {
    const port = STEADY.from + ((process.pid * OF_PROCESS + tried++) % STEADY.count)
    if (await firstFree(port)) return port
  }
  return freePort()
}

/** A port, if it is free; else 0: any. */
export async function firstFree(port: number): Promise<number> {
  if (port === 0) return 0
  const server = createServer()
  try {
    await listen(server, port)
  } catch {
    return 0
  }
  await release(server)
  return port
}

const release = async (server: Server): Promise<void> => {
  const closed = once(server, 'close')
  server.close()
  await closed
}

/**
 * Makes sure of ports before anything is begun that would need them.
 * @param wanted ports by the name of the option that asks for them; 0 and undefined: any
 * @throws the first that cannot be had, with what to do
 */
export async function checkPorts(wanted: Readonly<Record<string, number | undefined>>): Promise<void> {
  const held: Server[] = []
  try {
    for (const [option, port = 0] of Object.entries(wanted)) {
      if (port === 0) continue
      const server = createServer()
      await listen(server, port).catch((error: NodeJS.ErrnoException) => {
        throw new Error(faultOf(option, port, error), { cause: error })
      })
      held.push(server)
    }
  } finally {
    await Promise.all(held.map(release))
  }
}

function faultOf(option: string, port: number, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'ERR_SOCKET_BAD_PORT') return `--${option} must be a number from 0 (any free port) to 65535`
  if (code === 'EADDRINUSE')
    return `port ${port} is in use, perhaps by a cluster that still runs: stop it, or choose another port with --${option} (0: any free one)`
  if (code === 'EACCES')
    return `port ${port} needs rights that this process does not have: choose another port with --${option} (0: any free one)`
  return `port ${port} (--${option}) cannot be used: ${message}`
}
