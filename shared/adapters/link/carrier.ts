import { rootCertificates } from 'node:tls'
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport, createGrpcWebTransport, Http2SessionManager } from '@connectrpc/connect-node'
import type { Authorities } from '../../ports.ts'
import { type AddressRules, normaliseMemberAddress } from '../../values/member-address.ts'
import { type CreateLinkCarrier, FrontAnswered, type LinkMethod } from '../../wire/carry.ts'
import { type Answer, AnswerSchema, type Call, LinkService } from '../../wire/gen/link_pb.ts'
import { httpsAgents, resendOnDeadConnection } from '../aws/connections.ts'

/** The ports that a carrier of link calls uses. */
export interface CarrierPorts {
  authorities?: Authorities
  deployment: AddressRules
}

/** The maximum size of an answer to a link call, bytes. */
const LARGEST_ANSWER = 8 * 2 ** 20

/** An idle HTTP/2 connection is checked with a ping before it is used. */
const HTTP2 = { pingIntervalMs: 5000, pingTimeoutMs: 2000, idleConnectionTimeoutMs: 60_000 }

/** The client's function names, by method. */
const names = Object.fromEntries(LinkService.methods.map(({ name, localName }) => [name, localName])) as {
  [M in LinkMethod]: keyof Client<typeof LinkService>
}

/** gRPC over HTTP/2 if the other side supports gRPC; gRPC-Web through a gateway, which does not forward trailers. */
type Protocol = 'grpc' | 'web'

/** One address of a cluster, with one set of trusted certificates. */
interface Peer {
  send(by: Protocol, method: LinkMethod, call: Call, timeoutMs: number): Promise<Answer>
  /** `stopConnecting` aborts a connection attempt, so that the next call starts a new one */
  stopConnecting(): void
  /** `speaks`: the HTTP version of the last answer from the address */
  speaks?: Protocol
}

/**
 * Carries calls to other clusters, for one environment. Connections, and the protocol of each address, are kept.
 * The carrier tries addresses in order, starting with the address that answered last. The carrier does not follow
 * redirects.
 * @param ports `authorities`: certificates that the deployment ships; the carrier trusts them in addition to the
 * default certificates, unless a call brings its own
 */
export function createLinkCarrier({ authorities, deployment }: CarrierPorts): CreateLinkCarrier {
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
 * Sends a call with the peer's protocol; if the protocol is unknown, with gRPC and then with gRPC-Web. A call that
 * fails at once is sent a second time, because a kept connection may have died unnoticed. The receiver recognises a
 * repeated call by the call's time.
 */
async function sendWithFallback(
  peer: Peer,
  method: LinkMethod,
  call: Call,
  timeoutMs: number,
): Promise<Answer> {
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

/**
 * Reads the trusted certificates.
 * @returns undefined if only the default certificates are trusted
 */
async function readTrustedCertificates(authorities: Authorities | undefined): Promise<string | undefined> {
  const shipped = await authorities?.shipped()
  return shipped?.size ? [...rootCertificates, ...shipped.values()].join('\n') : undefined
}

/**
 * Checks an address of another cluster.
 * @throws Error for an address that must not be called
 */
function checkBaseUrl(address: string, rules: AddressRules): string {
  const usable = normaliseMemberAddress(address, rules)
  if (usable === undefined) throw new Error('the address rules forbid calls to this address')
  return usable
}

function createPeer(baseUrl: string, ca: string | undefined): Peer {
  const limits = { baseUrl, readMaxBytes: LARGEST_ANSWER, acceptCompression: [] }
  const trusted = ca === undefined ? {} : { ca }
  const session = new Http2SessionManager(baseUrl, HTTP2, trusted)
  const grpc = createGrpcTransport({ ...limits, sessionManager: session })
  const agent = baseUrl.startsWith('https:') ? httpsAgents['https:'] : httpsAgents['http:']
  const web = createGrpcWebTransport({ ...limits, httpVersion: '1.1', nodeOptions: { ...trusted, agent } })
  const clients = { grpc: createClient(LinkService, grpc), web: createClient(LinkService, web) }
  return {
    send: async (by, method, call, timeoutMs) => {
      const send = () =>
        clients[by][names[method]](call, { timeoutMs: Math.ceil(timeoutMs) }).catch(readSignedRefusal)
      return by === 'grpc' ? send() : resendOnDeadConnection(send)
    },
    // HTTP/2 waits longer after each failed connection attempt. Without an abort, a call after a network failure or
    // a freeze of the environment would wait up to a minute for the next attempt.
    stopConnecting: () => {
      if (session.state() === 'connecting') session.abort()
    },
  }
}

/** The codes of failed connections. */
const CONNECTION_FAULTS: readonly Code[] = [
  Code.DeadlineExceeded,
  Code.Canceled,
  Code.Aborted,
  Code.Unavailable,
]

/**
 * Reports whether something answered, with a status or with unreadable content, so that not only the connection
 * failed.
 */
const isAnswered = (error: unknown): boolean =>
  error instanceof ConnectError &&
  ([...error.metadata].length > 0 || (error.cause === undefined && !CONNECTION_FAULTS.includes(error.code)))

/**
 * Returns the signed answer that a refusal carries.
 * @throws the error if the answer carries no refusal
 */
function readSignedRefusal(error: unknown): Answer {
  const [answer] = error instanceof ConnectError ? error.findDetails(AnswerSchema) : []
  if (!answer) throw error
  return answer
}
