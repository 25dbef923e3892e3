import type { JournalHead } from '../../journal/head.ts'
import { type ClusterRecord, linkAddressOf } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import type { Item } from '../../storage/kinds.ts'
import type { LinkMethod } from '../../wire/carry.ts'
import type { Envelope } from '../../wire/gen/link_pb.ts'
import type { MethodByCaller, MethodQuestion } from '../methods.ts'
import type { LinkKeyPairs } from '../pair.ts'

/** The ports of the link. */
export type LinkServerPorts = Pick<
  Ports,
  'store' | 'journal' | 'cipher' | 'clock' | 'deployment' | 'puller' | 'audit' | 'memory' | 'log'
>

/** A link call that has passed the checks of its caller. */
export interface AdmittedLinkCall {
  record: ClusterRecord
  /** UUID */
  set: string
  /** `readAt`, `now`: epoch milliseconds at which the record was read, and the present time by this cluster's clock */
  readAt: number
  now: number
  /** link keys of this cluster */
  pair: LinkKeyPairs
  envelope: Envelope
  body: Uint8Array
  /** the secondary that the envelope names; undefined for an unknown name */
  secondary: Item<'secondary'> | undefined
  /** address at which this call arrived; empty: unknown */
  reachedAt: string
}

/**
 * An admitted call with its question. For a method of secondaries, the call also has the secondary's item and the
 * head of the journal that answers.
 */
export type AdmittedMethodCall<M extends LinkMethod> = AdmittedLinkCall & {
  question: MethodQuestion<M>
} & (M extends MethodByCaller<'secondary'> ? { secondary: Item<'secondary'>; head: JournalHead } : unknown)

/** Returns the address at which other members of the set reach this cluster, or an empty list. */
export const ownAddressesOf = (
  { record, reachedAt }: Pick<AdmittedLinkCall, 'record' | 'reachedAt'>,
  { deployment }: Pick<LinkServerPorts, 'deployment'>,
): string[] => [linkAddressOf(record, deployment) || reachedAt].filter(one => one !== '')
