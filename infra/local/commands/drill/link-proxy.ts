import { connect, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { createServer } from 'node:tls'
import type { TlsSecrets } from '../../gateway/tls.ts'
import { listenOnLoopback, release } from '../../os/loopback.ts'

/** A proxy before a cluster that ends TLS, as load balancers do, and can cut the link. */
export interface LinkProxy {
  /** address at which the other cluster reaches this cluster */
  url: string
  /** ends all connections, and refuses new connections until `heal` */
  cut(): void
  heal(): void
  close(): Promise<void>
}

/** Starts a proxy before a cluster. @param target base URL of the called cluster */
export async function startLinkProxy(target: string, tls: TlsSecrets): Promise<LinkProxy> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer(tls, incoming => {
    if (isCut) return void incoming.destroy()
    open.add(incoming)
    pipeline(incoming, connect(Number(port), hostname), incoming, () => open.delete(incoming))
  })
  const cut = () => {
    isCut = true
    for (const one of open) one.destroy()
  }
  const url = await listenOnLoopback(server)
  return {
    url: url.replace('http:', 'https:'),
    cut,
    heal: () => {
      isCut = false
    },
    close: async () => {
      cut()
      await release(server)
    },
  }
}
