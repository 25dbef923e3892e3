import type { Member, Statement } from '../model/link.ts'
import { keysOf, type LinkPair } from './pair.ts'
import { LONGEST_CHAIN, statementOf } from './statements.ts'

/*
 * How a cluster's knowledge of its own membership grows: by an admission, by a take-over, and by a fence that another
 * cluster acknowledges.
 */

const MOST_ADDRESSES = 32
const LONGEST_ADDRESS = 2048

/** Addresses with further ones. Those that are known longest stay when there are too many. */
export const withAddresses = (known: readonly string[], more: readonly string[]): string[] =>
  [...new Set([...known, ...more])]
    .filter(one => one !== '' && one.length <= LONGEST_ADDRESS)
    .slice(0, MOST_ADDRESSES)

/** Statements with further ones, in the order in which they rest on each other; the newest stay. */
const withStatements = (known: readonly Statement[], more: readonly Statement[]): Statement[] => {
  const all = new Map([...known, ...more].map(one => [one.signature, one]))
  return [...all.values()].slice(-LONGEST_CHAIN)
}

const nobody: Member = { statements: [], addresses: [] }

/** What another cluster has said when it admitted this one. */
export interface Admission {
  /** raw Ed25519 key of the primary, base64 */
  primaryKey: string
  statement: Statement
  /** what leads to that key */
  chain: readonly Statement[]
  addresses: readonly string[]
}

/**
 * After an admission. Whom this cluster has admitted or revoked itself before does not count any more: the epoch of
 * the admission stands above theirs.
 * @param before absent: this cluster comes from another set, or from none
 */
export function addAdmission(
  before: Member | undefined,
  { primaryKey, statement, chain, addresses }: Admission,
): Member {
  const { statements, addresses: known } = before ?? nobody
  return {
    statements: withStatements(statements, [...chain, statement]),
    addresses: withAddresses(known, addresses),
    issuer: { id: statement.by, key: primaryKey, epoch: statement.epoch },
  }
}

/** A take-over: the key that the others know says which one follows it. */
export interface TakeOver {
  set: string
  /** UUID of this cluster */
  id: string
  /** that begins */
  epoch: string
  old: LinkPair
  next: LinkPair
}

/** After a take-over, in whose transaction this has to be stored. @param met addresses that only the link knew */
export const addTakeOver = (
  before: Member | undefined,
  { set, id, epoch, old, next }: TakeOver,
  met: readonly string[] = [],
): Member => ({
  ...(before ?? nobody),
  statements: withStatements(before?.statements ?? [], [
    statementOf(old.signing, { set, by: id, id, key: base64Of(next), epoch }),
  ]),
  addresses: withAddresses(before?.addresses ?? [], met),
})

/** After a fence was acknowledged, or somebody told of others. */
export const addVouchers = (
  before: Member | undefined,
  { vouchers = [], addresses = [] }: { vouchers?: readonly Statement[]; addresses?: readonly string[] },
): Member => ({
  ...(before ?? nobody),
  statements: withStatements(before?.statements ?? [], vouchers),
  addresses: withAddresses(before?.addresses ?? [], addresses),
})

const base64Of = (pair: LinkPair): string => keysOf(pair).signing.toString('base64')
