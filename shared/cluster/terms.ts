import type { ClusterRecord } from '../model/cluster.ts'
import type { Term, TokenSigner } from '../model/term.ts'
import type { TermMade } from '../ports.ts'
import { type Change, create, replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'

/** The cluster that makes a term. */
type Maker = Pick<ClusterRecord, 'id' | 'name'>

/** @returns the entry of a cluster among the signers of a term */
export const signerEntry = ({ id, name }: Maker, key: string): TokenSigner => ({ cluster: id, key, name })

/** What names a term in the data that replicate. */
const termItem = ({ number, probe, signer }: TermMade, now: number, maker: Maker): Term => ({
  number,
  probe,
  since: now,
  signers: signer === undefined ? [] : [signerEntry(maker, signer)],
})

/**
 * Notes the terms that a keyring holds, and that no item names yet: the new one, and those whose items the set lost with a
 * journal that a forced promotion ended.
 * @param known their identities
 * @param maker this cluster
 */
export const createTermItems = (
  made: readonly TermMade[],
  known: readonly string[],
  now: number,
  maker: Maker,
): Change[] =>
  made
    .filter(({ id }) => !known.includes(id))
    .map(one => create(key('term', one.id), termItem(one, now, maker)))

interface Retirement {
  /** epoch milliseconds */
  now: number
  /** this cluster */
  maker: Maker
  /** identity of the new term */
  active: string
  retire: boolean
}

/** The same, and with `retire` no older term seals a batch token that counts any more. One that was retired before stays as it was. */
export function createAndRetireTerms(
  made: readonly TermMade[],
  known: readonly Item<'term'>[],
  { now, maker, active, retire }: Retirement,
): Change[] {
  const ends = (id: string, { tokensUntil }: Term) => retire && id !== active && tokensUntil === undefined
  const fresh = createTermItems(
    made,
    known.map(({ sk }) => sk),
    now,
    maker,
  ).map(change =>
    change.kind === 'put' && ends(change.key.sk, change.data as Term)
      ? { ...change, data: { ...(change.data as Term), tokensUntil: now } }
      : change,
  )
  const ended = known
    .filter(({ sk, data }) => ends(sk, data))
    .map(one => replace(one, one, { ...one.data, tokensUntil: now }))
  return [...fresh, ...ended]
}
