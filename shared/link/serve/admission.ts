import type { JournalHead } from '../../journal/head.ts'
import { epochNumber } from '../../journal/position.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import { bounds } from '../../values/bounds.ts'
import type { LinkMethod } from '../../wire/carry.ts'
import type { Envelope } from '../../wire/gen/link_pb.ts'
import { isSecondaryOfCurrentEpoch } from '../admin/secondaries.ts'
import { callerKnowsLineage, clockSkewOf, isLinkCallSignedBy } from '../envelope.ts'
import { type LinkMethodRow, linkMethodRow } from '../methods.ts'
import { parseLinkPublicKeys } from '../pair.ts'
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
export interface LinkCallFacts {
  record: ClusterRecord
  /** the secondary that the envelope names */
  secondary: Secondary | undefined
  /** `revokedAt`: when the secondary's cluster was revoked, epoch milliseconds */
  revokedAt: number | undefined
  /** epoch milliseconds */
  now: number
}

interface Asked {
  method: LinkMethod
  envelope: Envelope
  body: Uint8Array
}

type Check = (asked: Asked, facts: LinkCallFacts) => LinkRefused | undefined

const ofThisSet: Check = ({ envelope }, { record }) =>
  record.set === undefined || record.mode === 'disabled'
    ? notInSetError()
    : envelope.set === record.set
      ? undefined
      : otherSetError()

/** A caller without an admitted key gets the same refusal for unknown, known and revoked names. */
const signedBySecondary: Check = ({ method, envelope, body }, { secondary }) => {
  const keys =
    secondary?.activatedAt === undefined ? undefined : parseLinkPublicKeys(secondary.publicKey ?? '')
  return keys && isLinkCallSignedBy(keys.signing, method, envelope, body) ? undefined : unknownCallerError()
}

const notRevoked: Check = ({ envelope }, { secondary, revokedAt }) =>
  secondary?.revokedAt === undefined && (revokedAt ?? 0) <= (secondary?.activatedAt ?? 0)
    ? undefined
    : callerRevokedError(envelope.caller)

const ofPresentEpoch: Check = ({ envelope }, { record, secondary }) =>
  secondary === undefined || isSecondaryOfCurrentEpoch(secondary, record)
    ? undefined
    : callerOfEarlierEpochError(envelope.caller)

const nearInTime: Check = ({ method, envelope }, { now }) => {
  if (linkMethodRow(method).ignoresClock) return undefined
  const skew = clockSkewOf(envelope, now)
  return Math.abs(skew) <= bounds.CLOCK_SKEW_MS ? undefined : clockSkewError(skew, bounds.CLOCK_SKEW_MS, now)
}

const notSeenBefore: Check = ({ method, envelope }, { secondary }) =>
  linkMethodRow(method).requiresLaterTime && Number(envelope.time) <= (secondary?.lastCallTime ?? 0)
    ? replayedCallError()
    : undefined

/** The checks of a call by an admitted secondary, in the order of execution. */
const ofSecondary: readonly Check[] = [
  ofThisSet,
  signedBySecondary,
  notRevoked,
  ofPresentEpoch,
  nearInTime,
  notSeenBefore,
]

/**
 * The checks of a newcomer's call, in the order of execution. After these checks the newcomer's handler verifies
 * the signature, before it looks at the token or the chain.
 */
const ofNewcomer: readonly Check[] = [ofThisSet, nearInTime, notSeenBefore]

const followsAnother: Check = (_, { record }) =>
  record.mode === 'secondary' && primaryKeyOf(record)?.length === 32 ? undefined : followsNoPrimaryError()

const signedByPrimary: Check = ({ method, envelope, body }, { record }) =>
  isLinkCallSignedBy(primaryKeyOf(record) ?? Buffer.alloc(0), method, envelope, body)
    ? undefined
    : noticeUnsignedError()

const primaryKeyOf = ({ link }: ClusterRecord): Buffer | undefined =>
  link && Buffer.from(link.primaryKey, 'base64')

const checks: Readonly<Record<LinkMethodRow['by'], readonly Check[]>> = {
  secondary: ofSecondary,
  newcomer: ofNewcomer,
  primary: [followsAnother, ofThisSet, signedByPrimary, nearInTime],
}

/** Returns the refusal of a call; undefined: the call is admitted. */
export function findLinkCallFault(asked: Asked, facts: LinkCallFacts): LinkRefused | undefined {
  for (const check of checks[linkMethodRow(asked.method).by]) {
    const found = check(asked, facts)
    if (found) return found
  }
  return undefined
}

/** Returns the refusal because of the journal's state; undefined: the journal serves the call. */
export function findJournalHeadFault(
  method: LinkMethod,
  envelope: Envelope,
  record: ClusterRecord,
  head: JournalHead | undefined,
): LinkRefused | undefined {
  const serves = head && (head.mode === 'writing' || head.mode === 'closed') && head.epoch === head.ownEpoch
  // A cluster that has stepped down still serves the rest of its journal to its followers.
  const isSource = record.mode === 'primary' || (record.mode === 'secondary' && head?.mode === 'closed')
  if (!isSource || !serves) return notThePrimaryError(record.mode)
  if (epochNumber(envelope.epoch) > epochNumber(head.epoch))
    return laterEpochSeenError(envelope.epoch, head.epoch)
  if (linkMethodRow(method).requiresSameLineage && !callerKnowsLineage(envelope, head.lineage))
    return lineageChangedError()
  return undefined
}
