import { request } from 'node:http'
import { createServer } from 'node:https'
import { pipeline } from 'node:stream'
import type { TlsSecrets } from '../../infra/local/gateway/tls.ts'
import { closeServer, listenOnLoopback } from '../../infra/local/os/loopback.ts'

/** A server of the test that ends TLS in front of an API of the emulator, because the emulator's APIs have no TLS. */
export interface TlsFront {
  port: string
  /** @param api address of the API, to which the paths of requests are appended */
  forwardTo(api: string): void
  close(): Promise<void>
}

/** Starts a front before its API exists, because the API's functions know the address of the front. */
export async function startTlsFront(tls: TlsSecrets): Promise<TlsFront> {
  let api: URL | undefined
  const server = createServer(tls, (incoming, answer) => {
    if (api === undefined) return void answer.writeHead(503).end()
    const { hostname, port, host } = api
    const { method, url, headers } = incoming
    const path = `${api.pathname}${url}`
    const outgoing = request({ hostname, port, method, path, headers: { ...headers, host } }, reply => {
      // the client has gone
      if (answer.destroyed) return void reply.destroy()
      answer.writeHead(reply.statusCode ?? 502, reply.headers)
      pipeline(reply, answer, () => undefined)
    })
    pipeline(incoming, outgoing, error => {
      if (error) answer.destroy()
    })
  })
  const { port } = new URL(await listenOnLoopback(server))
  return {
    port,
    forwardTo: to => {
      api = new URL(to)
    },
    close: () => closeServer(server),
  }
}
