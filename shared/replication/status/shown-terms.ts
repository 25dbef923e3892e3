import type { Head } from '../../journal/head.ts'
import { parsePosition } from '../../journal/position.ts'
import { type GivenTo, givenTo, type KnownHolders } from '../../link/admin/holders.ts'
import type { Secondary } from '../../model/link.ts'
import type { Item } from '../../storage/kinds.ts'
import { printTime } from '../../values/time.ts'
import { hasAcknowledged, isMember } from './acknowledged.ts'

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

/** Anybody may read the status, so its length is bounded: secondaries, newest terms, clusters of each kind in a term. */
const MOST_SECONDARIES = 32
const MOST_TERMS = 4
const MOST_CLUSTERS = 16

/** How many secondaries, terms, and clusters of the terms that are shown, the status leaves out. */
export interface NotShown {
  secondaries: number
  terms: number
  clusters: number
}

/** What a primary shows of its secondaries and terms, both in the order in which they were made. */
interface ShownHolders {
  secondaries: readonly Secondary[]
  terms: ShownTerm[]
  notShown: NotShown
}

/** Returns the newest terms of a primary and the secondaries heard last. @param all those of this epoch, not revoked */
export function showHolders(
  given: KnownHolders,
  all: readonly Secondary[],
  head: Pick<Head, 'lineage'> | undefined,
): ShownHolders {
  const secondaries = mostRecentlyHeard(all)
  const following = secondaries.filter(isMember)
  const newest = given.terms
    .toSorted((a, b) => a.data.number - b.data.number || a.data.since - b.data.since)
    .slice(-MOST_TERMS)
  const clusters = new Set<string>()
  const shown = new Set<string>()
  const terms = newest.map(term => {
    const holders = givenTo([term.sk], given)
    const some = newestOf(holders)
    for (const { cluster } of holders) clusters.add(cluster)
    for (const { cluster } of some) shown.add(cluster)
    const heard = following.filter(one => head && hasAcknowledged(one, seqOf(term), head))
    const { number, since, tokensUntil } = term.data
    return {
      id: term.sk,
      number,
      since: secondsOf(since),
      ...(tokensUntil === undefined ? {} : { tokens_until: secondsOf(tokensUntil) }),
      given_to: some.map(({ cluster, name = '', revoked = false }) => ({
        cluster_id: cluster,
        name,
        revoked,
      })),
      acknowledged_by: heard.map(({ id }) => id),
      unacknowledged_by: following.filter(one => !heard.includes(one)).map(({ id }) => id),
    }
  })
  const notShown = {
    secondaries: all.length - secondaries.length,
    terms: given.terms.length - newest.length,
    clusters: clusters.size - shown.size,
  }
  return { secondaries, terms, notShown }
}

/** Returns the secondaries heard last, and of those never heard the ones made last. */
function mostRecentlyHeard(all: readonly Secondary[]): Secondary[] {
  const last = all
    .toReversed()
    .toSorted((a, b) => (b.heartbeat?.at ?? 0) - (a.heartbeat?.at ?? 0))
    .slice(0, MOST_SECONDARIES)
  return all.filter(one => last.includes(one))
}

/** Returns the clusters revoked last and those admitted last, in the order of their ids. */
function newestOf(all: readonly GivenTo[]): GivenTo[] {
  const byTime = all.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0))
  const some = [true, undefined].flatMap(revoked =>
    byTime.filter(one => one.revoked === revoked).slice(0, MOST_CLUSTERS),
  )
  return all.filter(one => some.includes(one))
}

const secondsOf = (ms: number): string => printTime(Math.floor(ms / 1000) * 1000)

/** Where the commit stands that wrote it last; what was written before there was a journal every secondary has. */
const seqOf = ({ inTree }: Item<'term'>): number => (inTree?.pos ? parsePosition(inTree.pos).seq : 0)
