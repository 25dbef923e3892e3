import type { MembershipStatement, SetMembership } from '../model/link.ts'
import { type LinkKeyPairs, linkPublicKeysOf } from './pair.ts'
import { MAX_STATEMENT_CHAIN, signMemberStatement } from './statements.ts'

/*
 * Adds to a cluster's knowledge of its own membership: after an admission, after a take-over, and after a fence
 * that another cluster acknowledged.
 */

const MOST_ADDRESSES = 32
const LONGEST_ADDRESS = 2048

/**
 * Merges addresses of clusters without duplicates. If the merged list has more than 32 addresses, the addresses
 * known longest stay.
 */
export const mergeMemberAddresses = (known: readonly string[], more: readonly string[]): string[] =>
  [...new Set([...known, ...more])]
    .filter(one => one !== '' && one.length <= LONGEST_ADDRESS)
    .slice(0, MOST_ADDRESSES)

/**
 * Merges statements, each after the statements on which it depends. If the merged list has more than 256
 * statements, the newest statements stay.
 */
const mergeStatements = (
  known: readonly MembershipStatement[],
  more: readonly MembershipStatement[],
): MembershipStatement[] => {
  const all = new Map([...known, ...more].map(one => [one.signature, one]))
  return [...all.values()].slice(-MAX_STATEMENT_CHAIN)
}

const EMPTY_MEMBER: SetMembership = { statements: [], addresses: [] }

/** The answer of a primary that admitted this cluster. */
export interface NewAdmission {
  /** raw Ed25519 key of the primary, base64 */
  primaryKey: string
  statement: MembershipStatement
  /** `chain`: statements that lead to the primary's key */
  chain: readonly MembershipStatement[]
  addresses: readonly string[]
}

/**
 * Returns the membership after an admission. Earlier admissions and revocations by this cluster no longer count,
 * because its own admission has a later epoch.
 * @param before absent: this cluster comes from another set, or from no set
 */
export function addAdmissionToMembership(
  before: SetMembership | undefined,
  { primaryKey, statement, chain, addresses }: NewAdmission,
): SetMembership {
  const { statements, addresses: known } = before ?? EMPTY_MEMBER
  return {
    statements: mergeStatements(statements, [...chain, statement]),
    addresses: mergeMemberAddresses(known, addresses),
    issuer: { id: statement.issuer, key: primaryKey, epoch: statement.epoch },
  }
}

/** A take-over: the old key, which other clusters know, signs a statement about the next key. */
export interface KeyTakeOver {
  set: string
  /** UUID of this cluster */
  id: string
  /** the epoch that begins */
  epoch: string
  old: LinkKeyPairs
  next: LinkKeyPairs
}

/**
 * Returns the membership after a take-over, to be stored in the take-over's transaction.
 * @param met addresses that only the link record knew
 */
export const addTakeOverToMembership = (
  before: SetMembership | undefined,
  { set, id, epoch, old, next }: KeyTakeOver,
  met: readonly string[] = [],
): SetMembership => ({
  ...(before ?? EMPTY_MEMBER),
  statements: mergeStatements(before?.statements ?? [], [
    signMemberStatement(old.signing, { set, issuer: id, subject: id, key: base64Of(next), epoch }),
  ]),
  addresses: mergeMemberAddresses(before?.addresses ?? [], met),
})

/** Returns the membership after an acknowledged fence, or after an answer with new addresses. */
export const addVouchersToMembership = (
  before: SetMembership | undefined,
  {
    vouchers = [],
    addresses = [],
  }: { vouchers?: readonly MembershipStatement[]; addresses?: readonly string[] },
): SetMembership => ({
  ...(before ?? EMPTY_MEMBER),
  statements: mergeStatements(before?.statements ?? [], vouchers),
  addresses: mergeMemberAddresses(before?.addresses ?? [], addresses),
})

const base64Of = (pair: LinkKeyPairs): string => linkPublicKeysOf(pair).signing.toString('base64')
