import type { Member, Statement } from '../model/link.ts'
import { type LinkPair, publicKeysOf } from './pair.ts'
import { LONGEST_CHAIN, signStatement } from './statements.ts'

/*
 * How a cluster's knowledge of its own membership grows: by an admission, by a take-over, and by a fence that another
 * cluster acknowledges.
 */

const MOST_ADDRESSES = 32
const LONGEST_ADDRESS = 2048

/** Adds addresses. If there are too many, those known longest stay. */
export const mergeAddresses = (known: readonly string[], more: readonly string[]): string[] =>
  [...new Set([...known, ...more])]
    .filter(one => one !== '' && one.length <= LONGEST_ADDRESS)
    .slice(0, MOST_ADDRESSES)

/** Adds statements, in the order in which they depend on each other; if there are too many, the newest stay. */
const mergeStatements = (known: readonly Statement[], more: readonly Statement[]): Statement[] => {
  const all = new Map([...known, ...more].map(one => [one.signature, one]))
  return [...all.values()].slice(-LONGEST_CHAIN)
}

const EMPTY_MEMBER: Member = { statements: [], addresses: [] }

/** What another cluster answered when it admitted this one. */
export interface Admission {
  /** raw Ed25519 key of the primary, base64 */
  primaryKey: string
  statement: Statement
  /** what leads to that key */
  chain: readonly Statement[]
  addresses: readonly string[]
}

/**
 * The membership after an admission. Earlier admissions and revocations by this cluster no longer count, because the epoch
 * of its own admission is later.
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

/** A take-over: the key that the others know signs a statement about its successor. */
export interface TakeOver {
  set: string
  /** UUID of this cluster */
  id: string
  /** the epoch that begins */
  epoch: string
  old: LinkPair
  next: LinkPair
}

/** The membership after a take-over, to be stored in its transaction. @param met addresses that only the link knew */
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

/** The membership after an acknowledged fence, or after an answer with new addresses. */
export const addVouchers = (
  before: Member | undefined,
  { vouchers = [], addresses = [] }: { vouchers?: readonly Statement[]; addresses?: readonly string[] },
): Member => ({
  ...(before ?? EMPTY_MEMBER),
  statements: mergeStatements(before?.statements ?? [], vouchers),
  addresses: mergeAddresses(before?.addresses ?? [], addresses),
})

const base64Of = (pair: LinkPair): string => publicKeysOf(pair).signing.toString('base64')
