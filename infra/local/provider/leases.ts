import { type IncomingMessage, request, type Server } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * Protocol of the header `Upgrade`. An open connection of this protocol is a lease: the process at its other
 * end needs the provider.
 */
const PROTOCOL = 'cloud-auth-lease'
/**
 * Header with the provider's directory in the answer to a lease. A client checks it, because another program
 * may have the port by now.
 */
const OF = 'lease-of'

const FIRST_LEASE_TIMEOUT_MS = 30_000
/**
 * Timeout of a lease's answer, longer than a busy machine delays it. If a client took a live provider for
 * dead, the provider would end while it is needed.
 */
const LEASE_ANSWER_TIMEOUT_MS = 30_000
const LEASE_END_TIMEOUT_MS = 10_000

/**
 * Counts the processes that need a provider. A killed process releases its lease, because the system closes
 * its connections.
 * @param directory the provider's state directory, by which callers identify it
 * @param isOwner reports whether a value of `Authorization` has the control token
 * @param onNone called when no lease is left, or when no process took a lease within half a minute
 */
export function countProviderLeases(
  server: Server,
  directory: string,
  isOwner: (authorization: string) => boolean,
  onNone: () => void,
): void {
  const held = new Set<Duplex>()
  let over = false
  const end = () => {
    if (over || held.size > 0) return
    over = true
    onNone()
  }
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    const { upgrade, authorization = '' } = incoming.headers
    if (over || upgrade !== PROTOCOL || !isOwner(authorization)) return void socket.destroy()
    held.add(socket)
    const given = () => {
      if (!held.delete(socket)) return
      // the holder of the last lease waits for the end of this process
      if (held.size > 0) socket.end()
      end()
    }
    socket.on('end', given).on('close', given)
    socket.on('error', () => undefined)
    socket.resume()
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PROTOCOL}\r\n${OF}: ${encodeURIComponent(directory)}\r\n\r\n`,
    )
  })
  setTimeout(end, FIRST_LEASE_TIMEOUT_MS).unref()
}

/** A lease on a provider: the process that holds the lease needs the provider. */
export interface ProviderLease {
  /**
   * releases the lease; after the release of the last lease, the promise resolves when the provider has ended
   */
  close(): Promise<void>
}

/**
 * Leases a provider in another process.
 * @param url URL of the provider
 * @param token its control token
 * @param directory absent: any directory
 * @returns undefined if no provider of the directory answers at the URL, or the provider counts no leases
 */
export const acquireProviderLease = (
  url: string,
  token: string,
  directory?: string,
): Promise<ProviderLease | undefined> =>
  new Promise(resolve => {
    const headers = { connection: 'Upgrade', upgrade: PROTOCOL, authorization: `Bearer ${token}` }
    const asked = request(url, { headers, timeout: LEASE_ANSWER_TIMEOUT_MS })
    asked.on('upgrade', (answer, socket) => {
      socket.on('error', () => undefined)
      socket.setTimeout(0)
      if (directory !== undefined && answer.headers[OF] !== encodeURIComponent(directory)) {
        socket.destroy()
        return resolve(undefined)
      }
      socket.resume()
      resolve({ close: () => givenBack(socket) })
    })
    asked.on('response', answer => {
      answer.resume()
      resolve(undefined)
    })
    asked.on('error', () => resolve(undefined))
    asked.on('timeout', () => asked.destroy())
    asked.end()
  })

const givenBack = (socket: Duplex): Promise<void> =>
  new Promise(resolve => {
    if (socket.destroyed) return resolve()
    const late = setTimeout(() => socket.destroy(), LEASE_END_TIMEOUT_MS)
    socket.once('close', () => {
      clearTimeout(late)
      resolve()
    })
    socket.end()
  })
