import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'

const LOOPBACK = '127.0.0.1'

/**
 * Makes a server listen on loopback.
 * @param port 0: any free port
 * @returns `http://127.0.0.1:<port>`
 * @throws Error with the code `EADDRINUSE` if the port is in use
 */
export async function listenOnLoopback(server: Server, port = 0): Promise<string> {
  server.listen(port, LOOPBACK)
  await once(server, 'listening')
  // a connection that cannot be accepted, for example without free file descriptors, must not end the server
  server.on('error', () => undefined)
  return serverUrlOf(server)
}

/** A server that listens on loopback. */
export interface ListeningServer {
  url: string
  close(): Promise<void>
}

/** Starts an HTTP server on loopback. @throws see `listenOnLoopback` */
export const startLoopbackServer = async (server: HttpServer, port = 0): Promise<ListeningServer> => ({
  url: await listenOnLoopback(server, port),
  close: () => closeServer(server),
})

/** Returns the address of a listening server. */
export const serverUrlOf = (server: Server): string =>
  `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`

/** Closes an HTTP server and its connections at once. */
export async function closeServer(server: HttpServer): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

/** Returns a port that is free now, for processes that need a port number. */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  const { port } = new URL(await listenOnLoopback(server))
  await release(server)
  return Number(port)
}

/**
 * Range of ports outside the ephemeral range, so that no connection takes a port of this range between two
 * starts.
 */
const STEADY = { from: 10_000, count: 10_000 }

/**
 * Number of ports that one process tries first. These ports depend on the process id, so processes that start
 * at the same time try different ports.
 */
const OF_PROCESS = 25
let tried = 0

/** Returns a free port outside the ephemeral range, for a process that wants the same port at its next start. */
export async function findSteadyPort(): Promise<number> {
  for (let count = 0; count < 100; count++) {
    const port = STEADY.from + ((process.pid * OF_PROCESS + tried++) % STEADY.count)
    if (await chooseFreePort(port)) return port
  }
  return findFreePort()
}

/** Returns the port if it is free, else 0. */
export async function chooseFreePort(port: number): Promise<number> {
  if (port === 0) return 0
  const server = createServer()
  try {
    await listenOnLoopback(server, port)
  } catch {
    return 0
  }
  await release(server)
  return port
}

/** Closes a server, and waits until its last connection has ended. */
export const release = async (server: Server): Promise<void> => {
  const closed = once(server, 'close')
  server.close()
  await closed
}

/**
 * Checks ports before any part starts that needs them.
 * @param wanted ports by the option that names them; 0 and undefined: any port
 * @throws Error for the first unusable port, with what to do
 */
export async function checkPortsAreFree(wanted: Readonly<Record<string, number | undefined>>): Promise<void> {
  const held: Server[] = []
  try {
    for (const [option, port = 0] of Object.entries(wanted)) {
      if (port === 0) continue
      const server = createServer()
      await listenOnLoopback(server, port).catch((error: NodeJS.ErrnoException) => {
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
    return `port ${port} is in use, perhaps by a running cluster. Stop that cluster, or choose another port with --${option} (0: any free one)`
  if (code === 'EACCES')
    return `port ${port} needs privileges that this process does not have. Choose another port with --${option} (0: any free one)`
  return `port ${port} (--${option}) cannot be used: ${message}`
}
