import type { Head } from '../../journal/head.ts'
import { positionOf } from '../../journal/position.ts'
import { givenTo, type KnownHolders } from '../../link/admin/holders.ts'
import type { Secondary } from '../../model/link.ts'
import type { Item } from '../../storage/kinds.ts'
import { printTime } from '../../values/time.ts'
import { hasUpTo } from './acknowledged.ts'

/** A term as status shows it. */
export interface ShownTerm {
  id: string
  number: number
  since: string
  /** batch tokens of it count until then; absent: no end */
  tokens_until?: string
  /** by UUID, with the name of its last admission */
  given_to: readonly { cluster_id: string; name: string; revoked: boolean }[]
  /** secondaries by name: whether they have the term as it stands, its end included */
  acknowledged_by: readonly string[]
  unacknowledged_by: readonly string[]
}

/** Terms of a primary, oldest first. @param following secondaries of this epoch, not revoked */
export const showTerms = (
  given: KnownHolders,
  following: readonly Secondary[],
  head: Pick<Head, 'lineage'> | undefined,
): ShownTerm[] =>
  given.terms
    .toSorted((a, b) => a.data.number - b.data.number || a.data.since - b.data.since)
    .map(term => {
      const heard = following.filter(one => head && hasUpTo(one, seqOf(term), head))
      const { number, since, tokensUntil } = term.data
      return {
        id: term.sk,
        number,
        since: secondsOf(since),
        ...(tokensUntil === undefined ? {} : { tokens_until: secondsOf(tokensUntil) }),
        given_to: givenTo([term.sk], given).map(({ cluster, name = '', revoked = false }) => ({
          cluster_id: cluster,
          name,
          revoked,
        })),
        acknowledged_by: heard.map(({ id }) => id),
        unacknowledged_by: following.filter(one => !heard.includes(one)).map(({ id }) => id),
      }
    })

const secondsOf = (ms: number): string => printTime(Math.floor(ms / 1000) * 1000)

/** Where the commit stands that wrote it last; what was written before there was a journal every secondary has. */
const seqOf = ({ inTree }: Item<'term'>): number => (inTree?.pos ? positionOf(inTree.pos).seq : 0)
