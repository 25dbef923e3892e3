import type { JournalHead } from '../../journal/head.ts'
import type { Secondary } from '../../model/link.ts'
import { bounds } from '../../values/bounds.ts'
import { findKeyringFault, type PromotionCheckResult } from '../promotion/decide.ts'

/**
 * The facts that a primary knows about a planned switch before a secondary asks for it. Times in these facts are
 * epoch milliseconds.
 */
export interface SwitchFacts {
  readonly head: Pick<JournalHead, 'mode' | 'epoch' | 'last'> | undefined
  /** whether the tree contains every item */
  readonly built: boolean
  readonly keyring: { readonly opened: number; readonly failed: readonly string[] }
  readonly secondaries: readonly SuccessorFacts[]
}

/** A secondary as its primary knows it. */
export interface SuccessorFacts extends Pick<Secondary, 'id' | 'heartbeat'> {
  /** `lag` is the age of the oldest position that the secondary had not applied at its last heartbeat, milliseconds */
  readonly lag: number
}

/** Returns why a secondary could not take over now, as far as its primary knows; empty if the secondary could. */
export function findSuccessorFault(
  { heartbeat, lag }: SuccessorFacts,
  { epoch }: Pick<JournalHead, 'epoch'>,
  now: number,
): string {
  if (!heartbeat) return 'the secondary has never sent a heartbeat'
  const age = now - heartbeat.at
  if (age >= bounds.PEER_LOST_MS) return `the secondary’s last heartbeat was ${Math.round(age / 1000)} s ago`
  // an idle secondary has just begun to follow, or has stopped; a stopped secondary shows by its lag
  if (heartbeat.state.startsWith('merkle')) return `the state of the secondary is ${heartbeat.state}`
  if (heartbeat.epoch !== epoch)
    return `the secondary has applied epoch ${heartbeat.epoch}, and this cluster writes ${epoch}`
  return lag > bounds.LARGEST_LAG_MS
    ? `the secondary was ${Math.round(lag / 1000)} s behind at its last heartbeat`
    : ''
}

interface SwitchRow {
  readonly name: string
  readonly finds: (facts: SwitchFacts, now: number) => string | undefined
}

/** The obstacles of a planned switch, one row each. */
const rows: readonly SwitchRow[] = [
  {
    name: 'journal',
    finds: ({ head }) =>
      head?.mode === 'writing' ? undefined : 'the journal of this cluster has ended, or is about to',
  },
  {
    name: 'tree',
    finds: ({ built }) =>
      built ? undefined : 'the tree is being built, and no cluster can follow until the tree is complete',
  },
  {
    name: 'keyring',
    finds: ({ keyring }) =>
      findKeyringFault(keyring) ??
      (keyring.failed.length === 0
        ? undefined
        : `the keyring of this cluster cannot decrypt some fields: ${keyring.failed.slice(0, 5).join(', ')}`),
  },
  {
    name: 'secondaries',
    finds: ({ secondaries, head }, now) => {
      if (secondaries.length === 0) return 'this cluster knows no secondary'
      const faults = secondaries.map(one => ({
        id: one.id,
        fault: findSuccessorFault(one, head ?? { epoch: '' }, now),
      }))
      return faults.some(({ fault }) => fault === '')
        ? undefined
        : `no secondary could take over: ${faults.map(({ id, fault }) => `${id}: ${fault}`).join('; ')}`
    },
  },
]

/**
 * Checks a planned switch by the facts that this primary knows. Force on the secondary overrides all of these
 * obstacles.
 */
export const checkPlannedSwitch = (facts: SwitchFacts, now: number): PromotionCheckResult[] =>
  rows.map(({ name, finds }) => {
    const text = finds(facts, now)
    const row = { name, code: 'busy', overridden: true } as const
    return text === undefined ? row : { ...row, text }
  })

/** Returns the steps that a planned switch would take on this primary. */
export const describeSwitchSteps = ({
  head,
}: Pick<SwitchFacts, 'head'>): { step: string; does: string }[] => [
  {
    step: 'handover',
    does: `a secondary that is promoted asks this cluster to end epoch ${head?.epoch ?? ''}: from then on this cluster rejects writes`,
  },
  {
    step: 'close',
    does: 'this cluster closes every open position, and answers with the exact end of its journal',
  },
  {
    step: 'step down',
    does: 'this cluster becomes a secondary that follows no primary, and sends the rest of its journal to its followers',
  },
  {
    step: 'follow',
    does: 'POST sys/replication/dr/secondary/update-primary makes this cluster follow its successor: no data is deleted',
  },
]
