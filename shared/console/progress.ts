import type { ClusterStatus, RunningOperation } from '../set/status.ts'

/** Steps of each operation, in their order, with what each does. */
export const operationSteps: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  activation: {
    handshake: 'makes itself known to the primary',
    close: 'takes no writes any more, and waits until none is under way',
    wipe: 'deletes its own data',
    sync: 'fetches those of the primary',
    serve: 'is a secondary from now on',
  },
  'merkle-check': { check: 'compares the tree with what stands in the tables' },
  reindex: { build: 'makes the tree anew', compare: 'compares it with the one before' },
  demotion: { close: 'ends the journal', finish: 'is a secondary that follows nobody' },
  promotion: {
    verify: 'makes sure that it can take over',
    handover: 'asks the primary to hand over: nobody serves from now on',
    drain: 'applies all that is stored',
    claim: 'becomes the primary',
    open: 'opens its journal: clients are served from now on',
    serve: 'tells others, and makes keys of its own',
  },
  'update-primary': {
    find: 'looks for the new primary',
    drain: 'applies all that is stored',
    adopt: 'takes the new primary for its own',
    finish: 'follows it',
  },
  disable: {
    find: 'looks for the primary',
    drain: 'applies all that is stored',
    adopt: 'takes the set’s data for its own',
    leave: 'leaves the set',
    forget: 'forgets the keys of the set',
    finish: 'serves clients',
  },
}

export interface ShownStep {
  name: string
  does: string
  state: 'done' | 'now' | 'to come'
}

/** The steps of an operation, with where it is. One that the page does not know has the step that it tells. */
export function stepsOf({ name, step }: Pick<RunningOperation, 'name' | 'step'>): ShownStep[] {
  const steps = Object.entries(Object.hasOwn(operationSteps, name) ? (operationSteps[name] ?? {}) : {})
  const at = steps.findIndex(([one]) => one === step)
  if (at < 0) return [{ name: step, does: '', state: 'now' }]
  return steps.map(([one, does], index) => ({
    name: one,
    does,
    state: index < at ? 'done' : index === at ? 'now' : 'to come',
  }))
}

/** Work that takes a while, and how far it is. */
export interface ShownProgress {
  what: string
  text: string
  /** between 0 and 1; absent: unknown */
  part?: number
}

const STAGES: Readonly<Record<string, string>> = {
  scanning: 'reads all items',
  building: 'makes the pages of the tree',
  commit: 'makes the hashes',
}

const partOf = (done: number, total: number): Pick<ShownProgress, 'part'> =>
  total > 0 ? { part: Math.min(1, Math.max(0, done / total)) } : {}

/** Sync, reindex and comparison, as far as a cluster tells of them. */
export function progressOf({ sync, isBuilding, building, state, mode }: ClusterStatus): ShownProgress[] {
  const rows: ShownProgress[] = []
  if (sync)
    rows.push({
      what: 'sync',
      text: `${sync.done} of ${sync.total} items have come`,
      ...partOf(sync.done, sync.total),
    })
  if (isBuilding) {
    const { stage, done, total } = building
    const pages = total > 0 ? `, ${done} of ${total} pages` : ''
    rows.push({ what: 'reindex', text: `${STAGES[stage] ?? stage}${pages}`, ...partOf(done, total) })
  }
  if (state === 'merkle-diff' && mode === 'secondary')
    rows.push({ what: 'comparison', text: 'compares what it has with its primary' })
  return rows
}
