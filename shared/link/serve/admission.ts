import type { Head } from '../../journal/head.ts'
import { epochNumber } from '../../journal/position.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import { bounds } from '../../values/bounds.ts'
import type { Method } from '../../wire/carry.ts'
import type { Envelope } from '../../wire/gen/link_pb.ts'
import { isOfCurrentEpoch } from '../admin/secondaries.ts'
import { isCallSignedBy, knowsLineage, skewOf } from '../envelope.ts'
import { type MethodRow, rowOf } from '../methods.ts'
import { readPublicKey } from '../pair.ts'
import {
  callerOfEarlierEpochError,
  callerRevokedError,
  clockSkewError,
  followsNoPrimaryError,
  laterEpochSeenError,
  lineageChangedError,
  notInSetError,
  noticeUnsignedError,
  notThePrimaryError,
  otherSetError,
  replayedCallError,
  unknownCallerError,
} from '../refusals.ts'
import type { LinkRefused } from '../source.ts'

/** The facts by which a call is checked. */
export interface CallFacts {
  record: ClusterRecord
  /** the secondary that the envelope names */
  secondary: Secondary | undefined
  /** when the secondary's cluster was revoked, epoch milliseconds */
  revokedAt: number | undefined
  /** epoch milliseconds */
  now: number
}

interface Asked {
  method: Method
  envelope: Envelope
  body: Uint8Array
}

type Check = (asked: Asked, facts: CallFacts) => LinkRefused | undefined

const ofThisSet: Check = ({ envelope }, { record }) =>
  record.set === undefined || record.mode === 'disabled'
    ? notInSetError()
    : envelope.set === record.set
      ? undefined
      : otherSetError()

/** A caller without an admitted key gets the same refusal for unknown, known and revoked names. */
const signedBySecondary: Check = ({ method, envelope, body }, { secondary }) => {
  const keys = secondary?.activatedAt === undefined ? undefined : readPublicKey(secondary.publicKey ?? '')
  return keys && isCallSignedBy(keys.signing, method, envelope, body) ? undefined : unknownCallerError()
}

const notRevoked: Check = ({ envelope }, { secondary, revokedAt }) =>
  secondary?.revokedAt === undefined && (revokedAt ?? 0) <= (secondary?.activatedAt ?? 0)
    ? undefined
    : callerRevokedError(envelope.caller)

const ofPresentEpoch: Check = ({ envelope }, { record, secondary }) =>
  secondary === undefined || isOfCurrentEpoch(secondary, record)
    ? undefined
    : callerOfEarlierEpochError(envelope.caller)

const nearInTime: Check = ({ method, envelope }, { now }) => {
  if (rowOf(method).ignoresClock) return undefined
  const skew = skewOf(envelope, now)
  return Math.abs(skew) <= bounds.CLOCK_SKEW_MS ? undefined : clockSkewError(skew, bounds.CLOCK_SKEW_MS, now)
}

const notSeenBefore: Check = ({ method, envelope }, { secondary }) =>
  rowOf(method).requiresLaterTime && Number(envelope.time) <= (secondary?.lastCallTime ?? 0)
    ? replayedCallError()
    : undefined

/** The checks of a call by an admitted secondary, in this order. */
const ofSecondary: readonly Check[] = [
  ofThisSet,
  signedBySecondary,
  notRevoked,
  ofPresentEpoch,
  nearInTime,
  notSeenBefore,
]

/**
 * The checks of a newcomer's call. Its handler then verifies the signature, before it looks at the token or the
 * chain.
 */
const ofNewcomer: readonly Check[] = [ofThisSet, nearInTime, notSeenBefore]

const followsAnother: Check = (_, { record }) =>
  record.mode === 'secondary' && primaryKeyOf(record)?.length === 32 ? undefined : followsNoPrimaryError()

const signedByPrimary: Check = ({ method, envelope, body }, { record }) =>
  isCallSignedBy(primaryKeyOf(record) ?? Buffer.alloc(0), method, envelope, body)
    ? undefined
    : noticeUnsignedError()

const primaryKeyOf = ({ link }: ClusterRecord): Buffer | undefined =>
  link && Buffer.from(link.primaryKey, 'base64')

const checks: Readonly<Record<MethodRow['by'], readonly Check[]>> = {
  secondary: ofSecondary,
  newcomer: ofNewcomer,
  primary: [followsAnother, ofThisSet, signedByPrimary, nearInTime],
}

/** Returns the refusal of a call; undefined: the call is admitted. */
export function findCallFault(asked: Asked, facts: CallFacts): LinkRefused | undefined {
  for (const check of checks[rowOf(asked.method).by]) {
    const found = check(asked, facts)
    if (found) return found
  }
  return undefined
}

/** Returns the refusal because of the journal's state; undefined: the journal serves the call. */
export function findHeadFault(
  method: Method,
  envelope: Envelope,
  record: ClusterRecord,
  head: Head | undefined,
): LinkRefused | undefined {
  const serves = head && (head.mode === 'writing' || head.mode === 'closed') && head.epoch === head.ownEpoch
  // A cluster that has stepped down still serves the rest of its journal to its followers.
  const isSource = record.mode === 'primary' || (record.mode === 'secondary' && head?.mode === 'closed')
  if (!isSource || !serves) return notThePrimaryError(record.mode)
  if (epochNumber(envelope.epoch) > epochNumber(head.epoch))
    return laterEpochSeenError(envelope.epoch, head.epoch)
  if (rowOf(method).requiresSameLineage && !knowsLineage(envelope, head.lineage)) return lineageChangedError()
  return undefined
}
