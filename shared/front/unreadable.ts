import type { Socket } from 'node:net'

/** What Node's server answers to what it cannot read, by its code of the fault; the rest is 400. */
const ANSWERS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}
const CLOSING_MS = 1000

/**
 * Refuses what is no request, and ends its connection. A socket that is destroyed while something is still coming
 * resets the connection, and the answer may be lost with it: what comes is let come for a while.
 */
export function refuseUnreadable({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
  // it goes on coming
  if (socket.writableEnded) return
  if (!socket.writable) return void socket.destroy()
  const timer = setTimeout(() => socket.destroy(), CLOSING_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(`HTTP/1.1 ${ANSWERS[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`)
  socket.resume()
}
