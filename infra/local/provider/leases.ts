import { type IncomingMessage, request, type Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** What a connection is turned into, by the header `Upgrade`: it says "I need you" for as long as it is open. */
const PROTOCOL = 'cloud-auth-lease'
/** Whose provider it is, in the answer: a port may be somebody else's by now. */
const OF = 'lease-of'

const FIRST_LEASE_TIMEOUT_MS = 30_000
/** Longer than a busy machine keeps a provider from answering: taken for dead, it would end while somebody needs it. */
const LEASE_ANSWER_TIMEOUT_MS = 30_000
const LEASE_END_TIMEOUT_MS = 10_000

/**
 * Counts who needs a provider. A process that is killed gives its lease back by that: the system closes its connections.
 * @param directory where the provider keeps its state: its name to those who look for it
 * @param isOwner reports whether a value of `Authorization` has the control token
 * @param onNone once nobody needs it any more, or nobody has come within half a minute
 */
export function countLeases(
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
      // whoever gives back the last one waits for the end of this process
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

/** That this process needs a provider. */
export interface Lease {
  /** it needs it no more; where nobody else does, the provider has ended by then */
  close(): Promise<void>
}

/**
 * Leases a provider that runs in a process of its own.
 * @param url of the provider
 * @param token its control token
 * @param directory absent: whichever it is
 * @returns undefined where none of that directory answers there, or one that counts no leases
 */
export const leaseOf = (url: string, token: string, directory?: string): Promise<Lease | undefined> =>
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
