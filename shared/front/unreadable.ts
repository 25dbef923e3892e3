import type { Socket } from 'node:net'

interface Refusal {
  status: string
  /** of the API, as it answers elsewhere; absent: it has none for this */
  code?: string
  text: string
}

/** What is answered to what Node's server cannot read, by its code of the fault; the rest is no HTTP. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    code: 'head_too_large',
    text: 'the head is too large',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: '413 Payload Too Large',
    code: 'too_large',
    text: 'the body is too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', text: 'the request did not come in time' },
}
const NO_HTTP: Refusal = {
  status: '400 Bad Request',
  code: 'invalid_request',
  text: 'this is no request of HTTP/1.1',
}

/** An answer with its body, as the API puts it, and the end of the connection. */
function answerText({ status, code, text }: Refusal): string {
  const body = JSON.stringify({ errors: [text] })
  return [
    `HTTP/1.1 ${status}`,
    'Cache-Control: no-store',
    'Connection: close',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Content-Type: application/json',
    ...(code === undefined ? [] : [`X-Error-Code: ${code}`]),
    '',
    body,
  ].join('\r\n')
}

const REFUSED_SOCKET_TIMEOUT_MS = 1000

/**
 * Refuses what is no request, and ends its connection. A socket that is destroyed while something is still coming
 * resets the connection, and the answer may be lost with it: what comes is let come for a while.
 */
export function refuseUnreadable({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
  // it goes on coming
  if (socket.writableEnded) return
  if (!socket.writable) return void socket.destroy()
  const timer = setTimeout(() => socket.destroy(), REFUSED_SOCKET_TIMEOUT_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(answerText(REFUSALS[code] ?? NO_HTTP))
  socket.resume()
}
