import type { Socket } from 'node:net'

interface Refusal {
  status: string
  /** error code of the API; absent: none applies */
  code?: string
  text: string
}

/**
 * Responses to requests that Node's server cannot parse, by error code. Parser errors with other codes mean that
 * the input is not HTTP.
 */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    code: 'head_too_large',
    text: 'the request head is too large',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: '413 Payload Too Large',
    code: 'too_large',
    text: 'the body is too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    text: 'the request did not arrive completely in time',
  },
}
const NO_HTTP: Refusal = {
  status: '400 Bad Request',
  code: 'invalid_request',
  text: 'this is not an HTTP/1.1 request',
}

/** Formats a response in the API's form that closes the connection. */
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
 * Rejects an unreadable request and closes its connection. Destroying a socket that still receives data resets the connection and may
 * lose the response, so the socket reads on for a while.
 */
export function refuseUnreadableRequest({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
  // the client is still sending
  if (socket.writableEnded) return
  if (!socket.writable) return void socket.destroy()
  const timer = setTimeout(() => socket.destroy(), REFUSED_SOCKET_TIMEOUT_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(answerText(REFUSALS[code] ?? NO_HTTP))
  socket.resume()
}
