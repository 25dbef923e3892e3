import { request } from 'node:http'

/** An answer of the API. The body is parsed if it is JSON. */
export interface Reply {
  status: number
  headers: Record<string, string>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are what the tests look into
  body: any
}

export interface CallOptions {
  token?: string
  headers?: Record<string, string>
  /** loopback address from which the client calls */
  from?: string
}

/** Calls `<base><path>`. An object is sent as JSON, a text unchanged. */
export function call(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  { token, headers = {}, from }: CallOptions = {},
): Promise<Reply> {
  const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const url = new URL(base)
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: url.hostname,
        port: url.port,
        method,
        path: `${url.pathname.replace(/\/$/, '')}${path}${url.search}`,
        headers: {
          ...(token ? { 'x-vault-token': token } : {}),
          ...(payload === undefined ? {} : { 'content-length': Buffer.byteLength(payload) }),
          ...headers,
        },
        ...(from ? { localAddress: from } : {}),
      },
      answer => {
        const chunks: Buffer[] = []
        // an answer that breaks off has no end event
        answer.on('error', reject)
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers as Record<string, string>,
            text,
            body: text.startsWith('{') ? JSON.parse(text) : undefined,
          })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(payload)
  })
}
