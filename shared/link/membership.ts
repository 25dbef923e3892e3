import type { Member, Statement } from '../model/link.ts'
import { type LinkPair, publicKeysOf } from './pair.ts'
import { LONGEST_CHAIN, signStatement } from './statements.ts'

/*
 * Adds to what a cluster knows of its own membership: after an admission, after a take-over, and after a fence that
 * another cluster acknowledged.
 */

const MOST_ADDRESSES = 32
const LONGEST_ADDRESS = 2048

/** Merges addresses without duplicates. If there are more than 32, the addresses known longest stay. */
export const mergeAddresses = (known: readonly string[], more: readonly string[]): string[] =>
  [...new Set([...known, ...more])]
    .filter(one => one !== '' && one.length <= LONGEST_ADDRESS)
    .slice(0, MOST_ADDRESSES)

/** Merges statements, each after those on which it depends. If there are more than 256, the newest stay. */
const mergeStatements = (known: readonly Statement[], more: readonly Statement[]): Statement[] => {
  const all = new Map([...known, ...more].map(one => [one.signature, one]))
  return [...all.values()].slice(-LONGEST_CHAIN)
}

const EMPTY_MEMBER: Member = { statements: [], addresses: [] }

/** The answer of a primary that admitted this cluster. */
export interface Admission {
  /** raw Ed25519 key of the primary, base64 */
  primaryKey: string
  statement: Statement
  /** statements that lead to that key */
  chain: readonly Statement[]
  addresses: readonly string[]
}

/**
 * Returns the membership after an admission. Earlier admissions and revocations by this cluster no longer count,
 * because its own admission has a later epoch.
 * @param before absent: this cluster comes from another set, or from none
 */
export function addAdmission(
  before: Member | undefined,
  { primaryKey, statement, chain, addresses }: Admission,
): Member {
  const { statements, addresses: known } = before ?? EMPTY_MEMBER
  return {
    statements: mergeStatements(statements, [...chain, statement]),
    addresses: mergeAddresses(known, addresses),
    issuer: { id: statement.issuer, key: primaryKey, epoch: statement.epoch },
  }
}

/** A take-over: the old key, which other clusters know, signs a statement about the next key. */
export interface TakeOver {
  set: string
  /** UUID of this cluster */
  id: string
  /** the epoch that begins */
  epoch: string
  old: LinkPair
  next: LinkPair
}

/**
 * Returns the membership after a take-over, to be stored in the take-over's transaction.
 * @param met addresses that only the link record knew
 */
export const addTakeOver = (
  before: Member | undefined,
  { set, id, epoch, old, next }: TakeOver,
  met: readonly string[] = [],
): Member => ({
  ...(before ?? EMPTY_MEMBER),
  statements: mergeStatements(before?.statements ?? [], [
    signStatement(old.signing, { set, issuer: id, subject: id, key: base64Of(next), epoch }),
  ]),
  addresses: mergeAddresses(before?.addresses ?? [], met),
})

/** Returns the membership after an acknowledged fence, or after an answer with new addresses. */
export const addVouchers = (
  before: Member | undefined,
  { vouchers = [], addresses = [] }: { vouchers?: readonly Statement[]; addresses?: readonly string[] },
): Member => ({
  ...(before ?? EMPTY_MEMBER),
  statements: mergeStatements(before?.statements ?? [], vouchers),
  addresses: mergeAddresses(before?.addresses ?? [], addresses),
})

const base64Of = (pair: LinkPair): string => publicKeysOf(pair).signing.toString('base64')
