import type { ClusterRecord } from '../model/cluster.ts'
import type { KeyringTerm, TokenSigner } from '../model/term.ts'
import type { TermInfo } from '../ports.ts'
import { type Change, createItem, replaceItem } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'

/** The cluster that creates a key term. */
type Maker = Pick<ClusterRecord, 'id' | 'name'>

/** Returns the entry of a cluster in the signers of a term. */
export const createSignerEntry = ({ id, name }: Maker, key: string): TokenSigner => ({
  cluster: id,
  key,
  name,
})

/** Returns the replicated item of a term. */
const termItem = ({ number, probe, signer }: TermInfo, now: number, maker: Maker): KeyringTerm => ({
  number,
  probe,
  since: now,
  signers: signer === undefined ? [] : [createSignerEntry(maker, signer)],
})

/**
 * Creates items for the terms of a keyring that have no items yet: the new term, and terms whose items were lost
 * because a forced promotion cut the journal.
 * @param known ids of the terms that have items
 * @param maker this cluster
 */
export const createTermItems = (
  made: readonly TermInfo[],
  known: readonly string[],
  now: number,
  maker: Maker,
): Change[] =>
  made
    .filter(({ id }) => !known.includes(id))
    .map(one => createItem(key('term', one.id), termItem(one, now, maker)))

interface Retirement {
  /** epoch milliseconds */
  now: number
  /** the cluster that makes the term: this cluster */
  maker: Maker
  /** id of the new term */
  active: string
  retire: boolean
}

/**
 * Creates the items of terms as `createTermItems` does. With `retire`, the function also ends the batch tokens of
 * all older terms. A term that was retired earlier keeps its time.
 */
export function createAndRetireTerms(
  made: readonly TermInfo[],
  known: readonly Item<'term'>[],
  { now, maker, active, retire }: Retirement,
): Change[] {
  const ends = (id: string, { tokensUntil }: KeyringTerm) =>
    retire && id !== active && tokensUntil === undefined
  const fresh = createTermItems(
    made,
    known.map(({ sk }) => sk),
    now,
    maker,
  ).map(change =>
    change.kind === 'put' && ends(change.key.sk, change.data as KeyringTerm)
      ? { ...change, data: { ...(change.data as KeyringTerm), tokensUntil: now } }
      : change,
  )
  const ended = known
    .filter(({ sk, data }) => ends(sk, data))
    .map(one => replaceItem(one, one, { ...one.data, tokensUntil: now }))
  return [...fresh, ...ended]
}
