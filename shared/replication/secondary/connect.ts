import { keysOf, type LinkPair } from '../../link/pair.ts'
import { type SourceLink, sourceLink } from '../../link/source-link.ts'
import type { Clock, Entropy } from '../../ports.ts'
import { type AddressRules, memberAddresses } from '../../values/member-address.ts'
import type { CarryTo } from '../../wire/carry.ts'

/** Another cluster of the set, and this one as it is known there. */
export interface Peer {
  /** UUID of the DR set */
  set: string
  /** name that this cluster's activation token was made for */
  id: string
  pair: LinkPair
  /** raw Ed25519 key, base64: only answers signed by it are accepted */
  otherKey: string
  /** tried in this order */
  addresses: readonly string[]
  /** certificates that vouch for the other's, PEM */
  ca?: string | undefined
  /** epoch milliseconds: deadline of all calls to it */
  until?: number | undefined
}

/** Makes a link, without a call. */
export type Connect = (peer: Peer) => SourceLink

interface ConnectPorts {
  clock: Pick<Clock, 'now'>
  entropy: Pick<Entropy, 'bytes'>
  deployment: AddressRules
}

/** Links whose calls are carried so. */
export const connectVia =
  (carryTo: CarryTo, around: ConnectPorts): Connect =>
  ({ set, id, pair, otherKey, addresses, ca, until }) => {
    const { clock, entropy, deployment: rules } = around
    const end = {
      set,
      from: id,
      signing: pair.signing,
      keys: keysOf(pair),
      otherKey: Buffer.from(otherKey, 'base64'),
    }
    return sourceLink(end, {
      carry: carryTo({ addresses: memberAddresses(addresses, rules), ca }),
      clock,
      entropy,
      rules,
      until,
    })
  }
