import type { ClusterStatus, RunningOperation } from '../set/status.ts'

/** The steps of each operation in order, each with a description. */
export const operationSteps: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  activation: {
    handshake: 'registers with the primary',
    close: 'rejects new writes, and waits for running ones',
    wipe: 'deletes its own data',
    sync: 'fetches the data of the primary',
    serve: 'becomes a secondary',
  },
  'merkle-check': { check: 'compares the Merkle tree with the tables' },
  reindex: { build: 'rebuilds the tree', compare: 'compares the new tree with the previous one' },
  demotion: { close: 'ends the journal', finish: 'becomes a secondary without a primary' },
  promotion: {
    verify: 'checks that it can take over',
    handover: 'asks the primary to hand over; no cluster serves clients until the journal opens',
    drain: 'applies all stored entries',
    claim: 'becomes the primary',
    open: 'opens its journal, and serves clients from now on',
    serve: 'notifies the other clusters, and creates new keys',
  },
  'update-primary': {
    find: 'finds the new primary',
    drain: 'applies all stored entries',
    adopt: 'adopts the new primary',
    finish: 'follows the new primary',
  },
  disable: {
    find: 'finds the primary',
    drain: 'applies all stored entries',
    adopt: 'keeps the DR set’s data as its own',
    leave: 'leaves the set',
    forget: 'deletes the keys of the DR set',
    finish: 'serves clients',
  },
}

export interface ShownStep {
  name: string
  does: string
  state: 'done' | 'now' | 'to come'
}

/** Lists the steps of an operation with their state. An operation unknown to this page has only its reported step. */
export function listSteps({ name, step }: Pick<RunningOperation, 'name' | 'step'>): ShownStep[] {
  const steps = Object.entries(Object.hasOwn(operationSteps, name) ? (operationSteps[name] ?? {}) : {})
  const at = steps.findIndex(([one]) => one === step)
  if (at < 0) return [{ name: step, does: '', state: 'now' }]
  return steps.map(([one, does], index) => ({
    name: one,
    does,
    state: index < at ? 'done' : index === at ? 'now' : 'to come',
  }))
}

/** Long work of a cluster, with its progress. */
export interface ProgressBar {
  what: string
  text: string
  /** `part`: between 0 and 1; absent: unknown */
  part?: number
}

const STAGES: Readonly<Record<string, string>> = {
  scanning: 'reads all items',
  building: 'builds the pages of the Merkle tree',
  commit: 'computes the hashes',
}

const partOf = (done: number, total: number): Pick<ProgressBar, 'part'> =>
  total > 0 ? { part: Math.min(1, Math.max(0, done / total)) } : {}

/** Lists a cluster's sync, reindex and comparison with their progress. */
export function listProgressBars({ sync, isBuilding, building, state, mode }: ClusterStatus): ProgressBar[] {
  const rows: ProgressBar[] = []
  if (sync)
    rows.push({
      what: 'sync',
      text: `${sync.done} of ${sync.total} items fetched`,
      ...partOf(sync.done, sync.total),
    })
  if (isBuilding) {
    const { stage, done, total } = building
    const pages = total > 0 ? `, ${done} of ${total} pages` : ''
    rows.push({ what: 'reindex', text: `${STAGES[stage] ?? stage}${pages}`, ...partOf(done, total) })
  }
  if (state === 'merkle-diff' && mode === 'secondary')
    rows.push({ what: 'comparison', text: 'compares its items with the primary’s items' })
  return rows
}
