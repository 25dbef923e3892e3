import { connect, type Socket } from 'node:net'

/** A request to the DynamoDB engine as the SDK made it. */
export interface EngineRequest {
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

export interface EngineResponse {
  statusCode: number
  headers: Record<string, string>
  body: Buffer
}

/** Creates an error answer of the DynamoDB engine. */
export const createErrorAnswer = (statusCode: number, error: object): EngineResponse => ({
  statusCode,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: Buffer.from(JSON.stringify(error)),
})

/** Kept-alive connections to the DynamoDB engine. */
export interface EngineWire {
  send(request: EngineRequest): Promise<EngineResponse>
  close(): void
}

/** Headers that the DynamoDB engine reads. */
const SENT = ['authorization', 'content-type', 'x-amz-date', 'x-amz-target']

/**
 * Sends HTTP requests to the DynamoDB engine on kept-alive connections, one request at a time on each. Node's
 * HTTP client takes several times as long as the engine itself.
 */
export function openEngineWire(url: string): EngineWire {
  const { hostname, port } = new URL(url)
  const open = new Set<Connection>()
  const idle: Connection[] = []
  const another = (): Connection => {
    const one = connectionOver(connect(Number(port), hostname), {
      onFree: () => idle.push(one),
      onClosed: () => open.delete(one),
    })
    open.add(one)
    return one
  }
  const free = (): Connection => {
    for (let one = idle.pop(); one; one = idle.pop()) if (open.has(one)) return one
    return another()
  }
  return {
    send: ({ headers, body }) => {
      const given = SENT.map(name => `${name}: ${headers[name] ?? ''}\r\n`).join('')
      const head = `POST / HTTP/1.1\r\nhost: ${hostname}:${port}\r\n${given}content-length: ${body.length}\r\n\r\n`
      return free().send(Buffer.concat([Buffer.from(head, 'latin1'), body]))
    },
    close: () => {
      for (const one of open) one.close()
    },
  }
}

interface Connection {
  send(bytes: Buffer): Promise<EngineResponse>
  close(): void
}

interface Waiting {
  resolve(response: EngineResponse): void
  reject(error: Error): void
}

/** Creates a connection that serves one request at a time. */
function connectionOver(socket: Socket, told: { onFree: () => void; onClosed: () => void }): Connection {
  let waiting: Waiting | undefined
  let received: Buffer = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('data', chunk => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const whole = responseIn(received)
    if (whole === 'unreadable') return void socket.destroy()
    if (!whole) return
    const { resolve } = waiting ?? {}
    waiting = undefined
    received = Buffer.alloc(0)
    told.onFree()
    resolve?.(whole)
  })
  // the `close` handler reports the error
  socket.on('error', () => undefined)
  socket.on('close', () => {
    told.onClosed()
    waiting?.reject(Object.assign(new Error('the engine closed the connection'), { code: 'ECONNRESET' }))
  })
  return {
    send: bytes =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(bytes)
      }),
    close: () => socket.destroy(),
  }
}

/** Parses an HTTP response. Returns undefined while the response is incomplete. */
function responseIn(bytes: Buffer): EngineResponse | 'unreadable' | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [status = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map(line => {
      const [name = ''] = line.split(':', 1)
      return [name.toLowerCase(), line.slice(name.length + 1).trim()]
    }),
  )
  const { 'content-length': length } = headers
  if (length === undefined) return 'unreadable'
  const body = bytes.subarray(end + 4)
  if (body.length < Number(length)) return undefined
  return { statusCode: Number(status.split(' ')[1]), headers, body }
}
