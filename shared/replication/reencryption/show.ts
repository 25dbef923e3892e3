import { formatTime } from '../../values/time.ts'
import {
  areOwnKeysReencrypted,
  currentReencryption,
  describeTermWaits,
  isDataReencrypted,
  listOlderTerms,
} from './decide.ts'
import { hasOlderTerms, type KeyringTermFacts } from './facts.ts'

/** Returns the state of re-encryption and of older terms for operators. */
export function showOlderTerms(facts: KeyringTermFacts): object {
  const destroyed = facts.terms.filter(({ data }) => data.destroyed !== undefined)
  return {
    ...(hasOlderTerms(facts.keyring) ? { reencryption: shownProgress(facts) } : {}),
    older_terms: [...listOlderTerms(facts), ...destroyed]
      .toSorted((a, b) => a.data.number - b.data.number || (a.sk < b.sk ? -1 : 1))
      .map(one => ({
        id: one.sk,
        term: one.data.number,
        install_time: formatTime(one.data.since),
        unused_since: timeOf(one.data.unusedSince),
        destroyed_time: timeOf(one.data.destroyed),
        held: facts.keyring.termIds.includes(one.sk),
        waits_for: one.data.destroyed === undefined ? describeTermWaits(one, facts) : [],
      })),
  }
}

const timeOf = (at: number | undefined): string => (at === undefined ? '' : formatTime(at))

function shownProgress(facts: KeyringTermFacts): object {
  const progress = currentReencryption(facts)
  const { seen = 0, total = 0, written = 0, skipped = 0, pass = 0, since, doneAt } = progress ?? {}
  const { count = 0, names = [] } = progress?.unreadable ?? {}
  const state = isDataReencrypted(facts) ? 'done' : progress ? 'running' : 'waiting'
  return {
    term: facts.keyring.term,
    state,
    own_keys_done: areOwnKeysReencrypted(facts),
    since: timeOf(since),
    done_time: timeOf(doneAt),
    pass,
    seen,
    of: Math.max(seen, total),
    written,
    left: skipped,
    // fields that no held term can decrypt, and the names of some
    unreadable: { count, names },
  }
}
