import type { JournalHead } from '../../journal/head.ts'
import { parsePosition } from '../../journal/position.ts'
import { type KnownTermHolders, listTermRecipients, type TermRecipient } from '../../link/admin/holders.ts'
import type { Secondary } from '../../model/link.ts'
import type { PrimaryStatus } from '../../set/schema.ts'
import type { Item } from '../../storage/kinds.ts'
import { formatTime } from '../../values/time.ts'
import { hasAcknowledgedPosition, isActiveSecondary } from './acknowledged.ts'

/**
 * A key term in the form of the status. `tokens_until`: end of its batch tokens. `given_to`: by cluster id, with
 * the name of the last admission. `acknowledged_by` and `unacknowledged_by`: secondaries that have, or lack, the
 * term's latest change.
 */
export type ShownTerm = NonNullable<PrimaryStatus['terms']>[number]

/** Limits on the length of status, which everybody may read: secondaries, newest terms, clusters of each kind in a term. */
const MOST_SECONDARIES = 32
const MOST_TERMS = 4
const MOST_CLUSTERS = 16

/** Numbers of secondaries, terms, and clusters of shown terms that status omits. */
export type HiddenTermNotes = NonNullable<PrimaryStatus['not_shown']>

/** The secondaries and terms that status of a primary shows, oldest first. */
interface ShownHolders {
  secondaries: readonly Secondary[]
  terms: ShownTerm[]
  notShown: HiddenTermNotes
}

/**
 * Returns the newest terms of a primary, and the secondaries with the latest heartbeats. @param all secondaries of
 * this epoch that are not revoked
 */
export function showTermHolders(
  known: KnownTermHolders,
  all: readonly Secondary[],
  head: Pick<JournalHead, 'lineage'> | undefined,
): ShownHolders {
  const secondaries = mostRecentlyHeard(all)
  const following = secondaries.filter(isActiveSecondary)
  const newest = known.terms
    .toSorted((a, b) => a.data.number - b.data.number || a.data.since - b.data.since)
    .slice(-MOST_TERMS)
  const clusters = new Set<string>()
  const shown = new Set<string>()
  const terms = newest.map(term => {
    const holders = listTermRecipients([term.sk], known)
    const some = newestOf(holders)
    for (const { cluster } of holders) clusters.add(cluster)
    for (const { cluster } of some) shown.add(cluster)
    const heard = following.filter(one => head && hasAcknowledgedPosition(one, seqOf(term), head))
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
    terms: known.terms.length - newest.length,
    clusters: clusters.size - shown.size,
  }
  return { secondaries, terms, notShown }
}

/** Returns the secondaries with the latest heartbeats, then the newest secondaries without a heartbeat. */
function mostRecentlyHeard(all: readonly Secondary[]): Secondary[] {
  const last = all
    .toReversed()
    .toSorted((a, b) => (b.heartbeat?.at ?? 0) - (a.heartbeat?.at ?? 0))
    .slice(0, MOST_SECONDARIES)
  return all.filter(one => last.includes(one))
}

/** Returns the clusters revoked last and the clusters admitted last, ordered by id. */
function newestOf(all: readonly TermRecipient[]): TermRecipient[] {
  const byTime = all.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0))
  const some = [true, undefined].flatMap(revoked =>
    byTime.filter(one => one.revoked === revoked).slice(0, MOST_CLUSTERS),
  )
  return all.filter(one => some.includes(one))
}

const secondsOf = (ms: number): string => formatTime(Math.floor(ms / 1000) * 1000)

/**
 * Returns the position of the commit that last wrote a term; 0 for a term older than the journal, which every
 * secondary has.
 */
const seqOf = ({ inTree }: Item<'term'>): number => (inTree?.pos ? parsePosition(inTree.pos).seq : 0)
