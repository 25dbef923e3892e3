import type { Host } from '../host.ts'
import type { LinkFault, LinkTap } from '../link-tap.ts'
import type { StorageFault } from '../storage-faults.ts'
import { insist } from './change.ts'

/** Faults that come by themselves, on the way to tables and between clusters. */
export interface Weather {
  /** how many of each kind */
  counts: Readonly<Record<string, number>>
  end(): Promise<void>
}

/** Milliseconds between two faults, on average. */
const SPACING_MS = 3000
/** For so long a transaction takes its items, as on AWS. */
const TAKES_MS = 5
const SKIP = 20
const PATIENCE_MS = 30_000

const STORAGE: readonly Omit<StorageFault, 'skip'>[] = [
  ...(['before', 'after'] as const).flatMap(when =>
    (['reset', 'error', 'throttle', 'conflict'] as const).map(kind => ({ kind, when })),
  ),
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

interface Site {
  hosts: readonly Pick<Host, 'tap_url'>[]
  taps: readonly Pick<LinkTap, 'arrange'>[]
  chance: () => number
}

export async function startWeather({ hosts, taps, chance }: Site): Promise<Weather> {
  const counts: Record<string, number> = {}
  let ended = false
  const one = <T>(of: readonly T[]): T => of[Math.floor(chance() * of.length)] as T
  const order = (host: Pick<Host, 'tap_url'>, command: string, body: object = {}) =>
    fetch(`${host.tap_url}/_tap/${command}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
  const note = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const calm = () => Promise.all(hosts.map(host => order(host, 'mend')))
  await Promise.all(hosts.map(host => order(host, 'aws', { takesFor: TAKES_MS })))
  const strike = async () => {
    if (chance() < 0.5) {
      const fault = one(LINK)
      one(taps).arrange(fault)
      return note(`link ${fault.kind}`)
    }
    const [host, fault] = [one(hosts), one(STORAGE)]
    // what was arranged before, and has met nothing, is forgotten
    await order(host, 'mend')
    await order(host, 'fault', { ...fault, skip: Math.floor(chance() * SKIP) })
    note(`storage ${fault.kind}`)
  }
  const running = (async () => {
    while (!ended) {
      await new Promise(resolve => setTimeout(resolve, 2 * SPACING_MS * chance()))
      // a host that is too busy to take a fault has weather enough
      if (!ended) await strike().catch(() => note('not taken'))
    }
  })()
  return {
    counts,
    end: async () => {
      ended = true
      await running
      await insist(calm)
    },
  }
}
