import { type LinkKeyPairs, linkPublicKeysOf } from '../../link/pair.ts'
import { createSourceLink, type SourceLink } from '../../link/source-link.ts'
import type { Clock, Entropy } from '../../ports.ts'
import { type AddressRules, normaliseMemberAddresses } from '../../values/member-address.ts'
import type { CreateLinkCarrier } from '../../wire/carry.ts'

/** Another cluster of the set, and the keys for calls to it. */
export interface LinkPeer {
  /** UUID of the DR set */
  set: string
  /** `id` is the name for which this cluster's activation token was made */
  id: string
  pair: LinkKeyPairs
  /** `otherKey` is a raw Ed25519 key, base64; answers must be signed by this key */
  otherKey: string
  /** `addresses` are in the order in which they are tried */
  addresses: readonly string[]
  /** certificates of the authorities for the other cluster's certificate, PEM */
  ca?: string | undefined
  /** `until`: epoch milliseconds, deadline of all calls to the other cluster */
  until?: number | undefined
}

/** Makes a link without calling the other cluster. */
export type ConnectToPeer = (peer: LinkPeer) => SourceLink

interface ConnectPorts {
  clock: Pick<Clock, 'now'>
  entropy: Pick<Entropy, 'bytes'>
  deployment: AddressRules
}

/** Returns a function that makes links over the given carrier. */
export const createPeerConnector =
  (carryTo: CreateLinkCarrier, around: ConnectPorts): ConnectToPeer =>
  ({ set, id, pair, otherKey, addresses, ca, until }) => {
    const { clock, entropy, deployment: rules } = around
    const end = {
      set,
      from: id,
      signing: pair.signing,
      keys: linkPublicKeysOf(pair),
      otherKey: Buffer.from(otherKey, 'base64'),
    }
    return createSourceLink(end, {
      carry: carryTo({ addresses: normaliseMemberAddresses(addresses, rules), ca }),
      clock,
      entropy,
      rules,
      until,
    })
  }
