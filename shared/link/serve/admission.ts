import type { Head } from '../../journal/head.ts'
import { epochNumber } from '../../journal/position.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import { bounds } from '../../values/bounds.ts'
import { isOfThisEpoch } from '../admin/secondaries.ts'
import type { Method } from '../carry.ts'
import { isCallOf, knowsLineage, skewOf } from '../envelope.ts'
import type { Envelope } from '../gen/link_pb.ts'
import { readPublicKey } from '../pair.ts'
import {
  callerOfBefore,
  callerRevoked,
  callerUnknown,
  callSeen,
  clocksApart,
  followsNobody,
  inNoSet,
  laterEpochSeen,
  lineageChanged,
  noticeUnsigned,
  notThePrimary,
  ofAnotherSet,
} from '../refusals.ts'
import type { LinkRefused } from '../source.ts'

/** What a call is judged by. */
export interface CallFacts {
  record: ClusterRecord
  /** whom the envelope names */
  secondary: Secondary | undefined
  /** of the cluster that the secondary is */
  revokedAt: number | undefined
  /** epoch milliseconds */
  now: number
}

interface Asked {
  method: Method
  envelope: Envelope
  body: Uint8Array
}

/** Calls that change something: each must be later than all before. Everything else may be asked twice. */
const once: readonly Method[] = ['Activate', 'Echo', 'Handover']

type Check = (asked: Asked, facts: CallFacts) => LinkRefused | undefined

const ofThisSet: Check = ({ envelope }, { record }) =>
  record.set === undefined || record.mode === 'disabled'
    ? inNoSet()
    : envelope.set === record.set
      ? undefined
      : ofAnotherSet()

/** Without its key nobody learns whether a name is known here, or was revoked. */
const signedBySecondary: Check = ({ method, envelope, body }, { secondary }) => {
  const keys = secondary?.activatedAt === undefined ? undefined : readPublicKey(secondary.publicKey ?? '')
  return keys && isCallOf(keys.signing, method, envelope, body) ? undefined : callerUnknown()
}

const notRevoked: Check = ({ envelope }, { secondary, revokedAt }) =>
  secondary?.revokedAt === undefined && (revokedAt ?? 0) <= (secondary?.activatedAt ?? 0)
    ? undefined
    : callerRevoked(envelope.from)

const ofPresentEpoch: Check = ({ envelope }, { record, secondary }) =>
  secondary === undefined || isOfThisEpoch(secondary, record) ? undefined : callerOfBefore(envelope.from)

const nearInTime: Check = ({ envelope }, { now }) => {
  const skew = skewOf(envelope, now)
  return Math.abs(skew) <= bounds.CLOCK_SKEW_MS ? undefined : clocksApart(skew, bounds.CLOCK_SKEW_MS, now)
}

const notSeenBefore: Check = ({ method, envelope }, { secondary }) =>
  once.includes(method) && Number(envelope.time) <= (secondary?.time ?? 0) ? callSeen() : undefined

/** What a call by an admitted secondary has to pass, in this order. */
const ofSecondary: readonly Check[] = [
  ofThisSet,
  signedBySecondary,
  notRevoked,
  ofPresentEpoch,
  nearInTime,
  notSeenBefore,
]

/** Before its token or its chain is looked at, such a call proves by its signature that it has the key it names. */
const ofNewcomer: readonly Check[] = [ofThisSet, nearInTime, notSeenBefore]
const byNewcomers: readonly Method[] = ['Activate', 'Fence']

/** Why a call is refused; undefined: it is not. */
export function faultOf(asked: Asked, facts: CallFacts): LinkRefused | undefined {
  const checks = byNewcomers.includes(asked.method) ? ofNewcomer : ofSecondary
  for (const check of checks) {
    const found = check(asked, facts)
    if (found) return found
  }
  return undefined
}

/** A notice comes from the primary: it is signed by the key that the link names. */
export function noticeFault(
  { method, envelope, body }: Asked,
  { record, now }: CallFacts,
): LinkRefused | undefined {
  const key = record.link && Buffer.from(record.link.primaryKey, 'base64')
  if (record.mode !== 'secondary' || key?.length !== 32) return followsNobody()
  if (record.set !== envelope.set) return ofAnotherSet()
  if (!isCallOf(key, method, envelope, body)) return noticeUnsigned()
  return nearInTime({ method, envelope, body }, { record, now, secondary: undefined, revokedAt: undefined })
}

/** Methods whose answers hang together over several calls: none of them by a lineage that is not the caller's. */
const ofOneLineage: readonly Method[] = ['Items', 'Scan', 'Tree']

/** Why a journal does not serve a call; undefined: it does. */
export function headFault(
  method: Method,
  envelope: Envelope,
  record: ClusterRecord,
  head: Head | undefined,
): LinkRefused | undefined {
  const serves = head && (head.mode === 'writing' || head.mode === 'closed') && head.epoch === head.own
  // who has handed over, or was closed otherwise, gives the rest of its journal to those who follow it
  const isSource = record.mode === 'primary' || (record.mode === 'secondary' && head?.mode === 'closed')
  if (!isSource || !serves) return notThePrimary(record.mode)
  if (epochNumber(envelope.epoch) > epochNumber(head.epoch)) return laterEpochSeen(envelope.epoch, head.epoch)
  if (ofOneLineage.includes(method) && !knowsLineage(envelope, head.lineage)) return lineageChanged()
  return undefined
}
