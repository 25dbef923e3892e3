import type { Head } from '../../journal/head.ts'
import { common, type Epoch, type Lineage } from '../../journal/position.ts'

/** What is known of the cluster that this one follows. */
export interface Source {
  readonly epoch: Epoch
  readonly lineage: Lineage
  /** its cells are kept from behind this position on; 0 as long as it has not said otherwise */
  readonly from: number
}

/** A sync: of all items, or of those that own cells beyond the cut and an unfinished sync have touched. */
export interface SyncStep {
  readonly do: 'sync'
  readonly what: 'all' | 'touched'
  /** the last position that both journals have in common, -1: none */
  readonly cut: number
  /** the own journal goes on beyond it */
  readonly diverged: boolean
}

/**
 * What a secondary does next.
 * `redo`: apply what is staged. `stage`: fetch and store the next cells. `drain`: stop staging, something else is to
 * be done. `finish`: give the own closed journal its exact end. `follow`: begin to apply, everything fits.
 */
export type Step = { readonly do: 'redo' | 'stage' | 'drain' | 'finish' | 'follow' | 'nothing' } | SyncStep

/**
 * The next step, from the own head and what is known of the source.
 * @param filled whether the own closed journal is known to have no hole
 */
export function nextStep(head: Head, source: Source | undefined, filled: boolean): Step {
  const { mode, applied, last } = head
  if (mode === 'writing') return { do: 'nothing' }
  if ((mode === 'applying' || mode === 'draining') && applied < last) return { do: 'redo' }
  if (mode === 'closed' && !filled) return { do: 'finish' }
  if (!source) return { do: 'nothing' }
  const wanted = syncOf(head, source)
  if (!wanted) return { do: mode === 'applying' ? 'stage' : 'follow' }
  return mode === 'applying' ? { do: 'drain' } : wanted
}

function syncOf(head: Head, source: Source): SyncStep | undefined {
  const { cut, diverged } = common(source, head)
  // what an unfinished sync has touched is right only together with the rest of the same source's journal
  const unfinished =
    head.mode === 'syncing' || (head.unfinishedSync !== null && head.unfinishedSyncEpoch !== source.epoch)
  const nothingCommon = cut < 0 || cut < source.from
  // a rewind needs the own cells from the cut on: they say what has to be fetched
  const notDense = diverged && cut < head.retainedFrom
  const all = nothingCommon || notDense || (unfinished && head.unfinishedSync === 'all')
  if (!all && !diverged && !unfinished) return undefined
  return { do: 'sync', what: all ? 'all' : 'touched', cut, diverged }
}
