import { type Epoch, epochNumber, isEpochOf, type JournalLineage } from '../journal/position.ts'
import type { MembershipStatement } from '../model/link.ts'
import {
  claimantRevokedError,
  lineageRevokedError,
  takeOverGivenUpError,
  unknownClaimantError,
} from './refusals.ts'
import type { LinkRefused } from './source.ts'
import { isStatementSignedBy } from './statements.ts'

/** A signing key of a cluster of the set. */
export interface SetMemberKey {
  /** UUID of the cluster */
  id: string
  /** raw Ed25519 key, base64 */
  key: string
}

/** The facts by which a cluster decides whether a fence counts. */
export interface FenceDecisionFacts {
  set: string
  /** `ownEpoch`, `lineage`: epoch that this cluster writes, or wrote last, and its lineage */
  ownEpoch: Epoch
  lineage: JournalLineage
  /** `registered`: keys that this cluster has admitted since it last joined a primary, and has not revoked */
  registered: readonly SetMemberKey[]
  /** `issuer` is the key of the primary that admitted this cluster */
  issuer?: SetMemberKey | undefined
  /**
   * The highest epoch number that the claimant had seen when it last followed this cluster. By following this
   * cluster, the claimant gave up every epoch up to this number. The claimant can later claim only epochs with a
   * higher number. Absent or 0: the claimant has not followed this cluster.
   */
  abandonedUpTo?: number
  /** UUIDs of clusters that were revoked in this set, as far as this cluster knows */
  revoked: readonly string[]
}

/** A cluster that claims to be primary, in a call signed by its key. */
export interface PrimaryClaimant extends SetMemberKey {
  epoch: Epoch
  lineage: JournalLineage
  /** `chain`: statements, each after the statements on which it depends */
  chain: readonly MembershipStatement[]
}

const nameOf = ({ id, key }: SetMemberKey): string => `${id} ${key}`

/**
 * Returns the keys to which statements lead from known keys, including the known keys.
 * @param usable which statements may be used; default: all
 */
export function collectTrustedMemberKeys(
  set: string,
  roots: readonly SetMemberKey[],
  chain: readonly MembershipStatement[],
  usable: (statement: MembershipStatement) => boolean = () => true,
): SetMemberKey[] {
  const found = new Map(roots.map(one => [nameOf(one), one]))
  for (const statement of chain) {
    if (statement.set !== set || !usable(statement)) continue
    const issuers = [...found.values()].filter(({ id }) => id === statement.issuer)
    const member = { id: statement.subject, key: statement.key }
    if (issuers.some(({ key }) => isStatementSignedBy(Buffer.from(key, 'base64'), statement)))
      found.set(nameOf(member), member)
  }
  return [...found.values()]
}

/** Reports whether a key is in a list of keys. */
export const includesMemberKey = (keys: readonly SetMemberKey[], wanted: SetMemberKey): boolean =>
  keys.some(one => nameOf(one) === nameOf(wanted))

/**
 * Returns why a claimant may not fence this cluster; undefined: the fence counts. A revoked cluster never fences
 * the cluster that has revoked it, neither by its own take-over nor through other clusters. A cluster that became
 * primary after several switches may fence.
 */
export function findFenceFault(
  facts: FenceDecisionFacts,
  claimant: PrimaryClaimant,
): LinkRefused | undefined {
  const isRevoked = (id: string): boolean => facts.revoked.includes(id)
  if (isRevoked(claimant.id)) return claimantRevokedError(claimant.id)
  if (epochNumber(claimant.epoch) <= (facts.abandonedUpTo ?? 0))
    return takeOverGivenUpError(claimant.epoch, claimant.id)
  const strange = claimant.lineage.filter(([epoch]) => !facts.lineage.some(([known]) => known === epoch))
  const outlaw = strange.find(([epoch]) => facts.revoked.some(id => isEpochOf(epoch, id)))
  if (outlaw) return lineageRevokedError(outlaw[0])
  const roots = [...facts.registered, ...(facts.issuer ? [facts.issuer] : [])]
  const keys = collectTrustedMemberKeys(
    facts.set,
    roots,
    claimant.chain,
    // A statement of an epoch before this cluster's own epoch may have been revoked since. An issuer's statement
    // about its own next key still counts.
    ({ issuer, subject, epoch }) =>
      !isRevoked(issuer) && !isRevoked(subject) && (issuer === subject || epoch > facts.ownEpoch),
  )
  return includesMemberKey(keys, claimant) ? undefined : unknownClaimantError(claimant.id)
}
