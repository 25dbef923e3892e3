import type { LinkPair } from '../../link/pair.ts'
import type { SourceLink } from '../../link/source.ts'

/** Another cluster of the set, and this one as it is known there. */
export interface Peer {
  /** UUID of the DR set */
  set: string
  /** name that this cluster's activation token was made for */
  id: string
  pair: LinkPair
  /** raw Ed25519 key, base64: nobody else is believed */
  otherKey: string
  /** tried in this order */
  addresses: readonly string[]
  /** certificates that vouch for the other's, PEM */
  ca?: string | undefined
}

/** Makes a link; nobody is asked yet. */
export type Connect = (peer: Peer) => SourceLink
