import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestRequest } from './hand-signer.ts'

/** An answer in the form that tests use. */
export interface TestAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

/** Sends a request to the provider byte for byte: headers in order, with any host name. */
export async function send(url: string, request: TestRequest): Promise<TestAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<TestAnswer>()
  const { hostname, port } = new URL(url)
  const outgoing = httpRequest(
    {
      hostname,
      port,
      method: request.method,
      path: request.query === '' ? request.path : `${request.path}?${request.query}`,
      headers: [...request.headers, ['Content-Length', String(Buffer.byteLength(request.body))]].flat(),
      setHost: false,
    },
    incoming => {
      text(incoming).then(
        body => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }),
        reject,
      )
    },
  )
  outgoing.on('error', reject)
  outgoing.end(request.body)
  return promise
}

/** Returns the text of the first XML element of that name, or an empty text. */
export const element = (xml: string, name: string): string =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? ''
