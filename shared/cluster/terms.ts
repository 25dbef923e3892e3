import type { Term } from '../model/term.ts'
import type { TermMade } from '../ports.ts'
import { type Change, create, replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'

/** What names a term in the data that replicate. @param cluster UUID of the one that has made it */
const termItem = ({ number, probe, signer }: TermMade, now: number, cluster: string): Term => ({
  number,
  probe,
  since: now,
  ...(signer === undefined ? {} : { signers: [{ cluster, key: signer }] }),
})

/**
 * Notes the terms that a keyring holds, and that no item names yet: the new one, and with the first rotation those of
 * a keyring that was made before terms were noted.
 * @param known their identities
 * @param cluster UUID of this one
 */
export const noteTerms = (
  made: readonly TermMade[],
  known: readonly string[],
  now: number,
  cluster: string,
): Change[] =>
  made
    .filter(({ id }) => !known.includes(id))
    .map(one => create(key('term', one.id), termItem(one, now, cluster)))

interface Retiring {
  /** epoch milliseconds */
  now: number
  /** UUID of this cluster */
  cluster: string
  /** identity of the new term */
  active: string | undefined
  retire: boolean
}

/** The same, and with `retire` no older term seals a batch token that counts any more. One that was retired before stays as it was. */
export function retiredTerms(
  made: readonly TermMade[],
  known: readonly Item<'term'>[],
  { now, cluster, active, retire }: Retiring,
): Change[] {
  const ends = (id: string, { tokensUntil }: Term) => retire && id !== active && tokensUntil === undefined
  const fresh = noteTerms(
    made,
    known.map(({ sk }) => sk),
    now,
    cluster,
  ).map(change =>
    'put' in change && ends(change.put.sk, change.data as Term)
      ? { ...change, data: { ...(change.data as Term), tokensUntil: now } }
      : change,
  )
  const ended = known
    .filter(({ sk, data }) => ends(sk, data))
    .map(one => replace(one, one, { ...one.data, tokensUntil: now }))
  return [...fresh, ...ended]
}
