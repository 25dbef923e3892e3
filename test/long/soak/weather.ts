import { setTimeout } from 'node:timers/promises'
import type { LocalHost } from '../../../infra/local/host/host.ts'
import type { LinkFault, LinkTap } from '../../support/faults/link-tap.ts'
import type { StorageFault } from '../../support/faults/storage-faults.ts'

const INSIST_TIMEOUT_MS = 180_000
const INSIST_TRIES = 20
const PAUSE_MS = 1000

/**
 * Repeats work that fails because of faults, as operators do. @throws the last error after three minutes and
 * 20 tries
 */
export async function insist<T>(work: () => Promise<T>): Promise<T> {
  const end = Date.now() + INSIST_TIMEOUT_MS
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries >= INSIST_TRIES && Date.now() > end) throw error
      await setTimeout(PAUSE_MS)
    }
  }
}

/** Average time between two faults. */
const SPACING_MS = 3000
/** Milliseconds for which a transaction locks its items, as on AWS. */
const TRANSACTION_MS = 5
const MAX_SKIPPED = 20
const TAP_TIMEOUT_MS = 30_000

const STORAGE: readonly Omit<StorageFault, 'skip'>[] = [
  ...(['before', 'after'] as const).flatMap(when =>
    (['reset', 'error', 'throttle'] as const).map(kind => ({ kind, when })),
  ),
  // AWS cancels transactions for a conflict, never a query
  { kind: 'conflict', when: 'before', operation: 'TransactWriteItems' },
  { kind: 'delay', delayMs: 500 },
  { kind: 'stuck', when: 'before', stuckMs: 2000, operation: 'TransactWriteItems' },
  { kind: 'stuck', when: 'after', stuckMs: 2000, operation: 'TransactWriteItems' },
  { kind: 'unprocessed', operation: 'BatchGetItem' },
] as never

const LINK: readonly LinkFault[] = [
  { kind: 'drop-request' },
  { kind: 'drop-answer' },
  { kind: 'duplicate' },
  { kind: 'reorder' },
  { kind: 'delay', ms: 1500 },
  { kind: 'truncate', bytes: 40 },
]

/** A host with the storage tap between its functions and its engine. */
export type TappedHost = LocalHost & { tap_url: string }

type Tapped = Pick<TappedHost, 'tap_url' | 'control_token'>

/** Sends a command to the tap before a host's tables. */
export const askTap = (host: Tapped, command: string, body: object = {}) =>
  fetch(`${host.tap_url}/_tap/${command}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${host.control_token}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TAP_TIMEOUT_MS),
  })

/** Arranges faults at random times, between clusters and their tables and between the two clusters. */
export async function startWeather(first: readonly Tapped[], taps: readonly LinkTap[], random: () => number) {
  const counts: Record<string, number> = {}
  let [ended, resting, hosts] = [false, false, first]
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const mendAll = () => Promise.all(hosts.map(host => askTap(host, 'mend')))
  const behaveAsAws = (host: Tapped) => askTap(host, 'aws', { takesFor: TRANSACTION_MS })
  await Promise.all(hosts.map(behaveAsAws))
  const arrangeFault = async () => {
    if (random() < 0.5) {
      const fault = pick(LINK)
      pick(taps).arrange(fault)
      return count(`link ${fault.kind}`)
    }
    const [host, fault] = [pick(hosts), pick(STORAGE)]
    // an earlier fault that has met no call yet is removed
    await askTap(host, 'mend')
    await askTap(host, 'fault', { ...fault, skip: Math.floor(random() * MAX_SKIPPED) })
    count(`storage ${fault.kind}`)
  }
  const running = (async () => {
    while (!ended) {
      await setTimeout(2 * SPACING_MS * random())
      // a busy host may not answer its tap in time, which is no failure of the test
      if (!ended && !resting) await arrangeFault().catch(() => count('not arranged'))
    }
  })()
  return {
    /** number of faults of each kind */
    counts: counts as Readonly<Record<string, number>>,
    /** pauses the faults, and removes faults that wait at the tables */
    rest: async () => {
      resting = true
      await insist(mendAll)
    },
    resume: () => {
      resting = false
    },
    /** follows a host that was started again, because its tap has another address */
    follow: async (from: Tapped, to: Tapped) => {
      hosts = hosts.map(host => (host.tap_url === from.tap_url ? to : host))
      await insist(() => behaveAsAws(to))
    },
    end: async () => {
      ended = true
      await running
      await insist(mendAll)
    },
  }
}
