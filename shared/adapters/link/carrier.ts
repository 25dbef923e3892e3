import { rootCertificates } from 'node:tls'
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport, createGrpcWebTransport, Http2SessionManager } from '@connectrpc/connect-node'
import type { Authorities } from '../../ports.ts'
import { type AddressRules, memberAddress } from '../../values/member-address.ts'
import { type CarryTo, FrontAnswered, type Method } from '../../wire/carry.ts'
import { type Answer, AnswerSchema, type Call, LinkService } from '../../wire/gen/link_pb.ts'
import { agents, resendOnDeadConnection } from '../aws/connections.ts'

/** What a carrier needs of an environment. */
export interface CarrierPorts {
  authorities?: Authorities
  deployment: AddressRules
}

/** Bytes of an answer. */
const LARGEST_ANSWER = 8 * 2 ** 20

/** A connection over HTTP/2 that has rested is asked whether it lives, before it is used. */
const HTTP2 = { pingIntervalMs: 5000, pingTimeoutMs: 2000, idleConnectionTimeoutMs: 60_000 }

/** Names of the client's functions, by method. */
const names = Object.fromEntries(LinkService.methods.map(({ name, localName }) => [name, localName])) as {
  [M in Method]: keyof Client<typeof LinkService>
}

/** gRPC over HTTP/2 where it is spoken; gRPC-Web behind a gateway, which carries no trailers. */
type Protocol = 'grpc' | 'web'

/** One address, by one set of trusted certificates. */
interface Peer {
  send(by: Protocol, method: Method, call: Call, timeoutMs: number): Promise<Answer>
  /** gives up a connection that has not come about: the next call makes another one */
  stopConnecting(): void
  /** what it has answered by */
  speaks?: Protocol
}

/**
 * Carries calls to other clusters, for one environment: connections and what is spoken at which address are kept.
 * Addresses are tried in their order, from then on beginning with the one that answered last. No redirect is followed.
 * @param ports `authorities`: what a deployment ships vouches besides the usual ones, where no others are given
 */
export function createLinkCarrier({ authorities, deployment }: CarrierPorts): CarryTo {
  const peers = new Map<string, Peer>()
  const peerAt = async (address: string, ca: string | undefined): Promise<Peer> => {
    const name = JSON.stringify([address, ca])
    const peer =
      peers.get(name) ??
      createPeer(checkBaseUrl(address, deployment), ca ?? (await readTrustedCertificates(authorities)))
    peers.set(name, peer)
    return peer
  }
  return ({ addresses, ca }) => {
    let order = [...addresses]
    return async (method, call, timeoutMs) => {
      if (order.length === 0) throw new Error('no address of the other cluster is known')
      const end = Date.now() + timeoutMs
      const faults: string[] = []
      let answered = false
      for (const [index, address] of order.entries()) {
        const share = Math.max(1, (end - Date.now()) / (order.length - index))
        try {
          const answer = await sendWithFallback(await peerAt(address, ca), method, call, share)
          order = [address, ...order.filter(one => one !== address)]
          return answer
        } catch (error) {
          faults.push(`${address}: ${error instanceof Error ? error.message : String(error)}`)
          answered ||= isAnswered(error)
        }
      }
      throw answered ? new FrontAnswered(faults.join('; ')) : new Error(faults.join('; '))
    }
  }
}

/**
 * By what the peer speaks; as long as that is not known, by gRPC and then by gRPC-Web. What fails at once is sent a
 * second time: a kept connection may have died unnoticed. A call that must not be repeated is known by its time.
 */
async function sendWithFallback(peer: Peer, method: Method, call: Call, timeoutMs: number): Promise<Answer> {
  const end = Date.now() + timeoutMs
  const by = async (protocol: Protocol, patience: number) => {
    const answer = await peer.send(protocol, method, call, patience)
    peer.speaks = protocol
    return answer
  }
  try {
    return await by(peer.speaks ?? 'grpc', timeoutMs)
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.DeadlineExceeded) {
      peer.stopConnecting()
      throw error
    }
    return by(peer.speaks ?? 'web', Math.max(1, end - Date.now()))
  }
}

/** @returns undefined for the usual ones alone */
async function readTrustedCertificates(authorities: Authorities | undefined): Promise<string | undefined> {
  const shipped = await authorities?.shipped()
  return shipped?.size ? [...rootCertificates, ...shipped.values()].join('\n') : undefined
}

/** @throws Error for an address that must not be called */
function checkBaseUrl(address: string, rules: AddressRules): string {
  const usable = memberAddress(address, rules)
  if (usable === undefined) throw new Error('this is no address of another cluster: it is not called')
  return usable
}

function createPeer(baseUrl: string, ca: string | undefined): Peer {
  const limits = { baseUrl, readMaxBytes: LARGEST_ANSWER, acceptCompression: [] }
  const trusted = ca === undefined ? {} : { ca }
  const session = new Http2SessionManager(baseUrl, HTTP2, trusted)
  const grpc = createGrpcTransport({ ...limits, sessionManager: session })
  const agent = baseUrl.startsWith('https:') ? agents['https:'] : agents['http:']
  const web = createGrpcWebTransport({ ...limits, httpVersion: '1.1', nodeOptions: { ...trusted, agent } })
  const clients = { grpc: createClient(LinkService, grpc), web: createClient(LinkService, web) }
  return {
    send: async (by, method, call, timeoutMs) => {
      const send = () =>
        clients[by][names[method]](call, { timeoutMs: Math.ceil(timeoutMs) }).catch(readSignedRefusal)
      return by === 'grpc' ? send() : resendOnDeadConnection(send)
    },
    // whoever is not answered asks again ever more rarely: a network that is back, or an environment that was frozen, would
    // wait for that for up to a minute
    stopConnecting: () => {
      if (session.state() === 'connecting') session.abort()
    },
  }
}

/** What connections fail with. */
const CONNECTION_FAULTS: readonly Code[] = [
  Code.DeadlineExceeded,
  Code.Canceled,
  Code.Aborted,
  Code.Unavailable,
]

/** Whether somebody has answered, with a status or with what cannot be read, and not only a connection has failed. */
const isAnswered = (error: unknown): boolean =>
  error instanceof ConnectError &&
  ([...error.metadata].length > 0 || (error.cause === undefined && !CONNECTION_FAULTS.includes(error.code)))

/** A refusal comes as an error that carries the signed answer. @throws what carries none */
function readSignedRefusal(error: unknown): Answer {
  const [answer] = error instanceof ConnectError ? error.findDetails(AnswerSchema) : []
  if (!answer) throw error
  return answer
}
