import type { LinkFault, LinkTap } from '../../faults/link-tap.ts'
import type { StorageFault } from '../../faults/storage-faults.ts'
import type { Host } from '../../host/host.ts'
import { insist } from './insist.ts'

/** Faults that come by themselves, on the way to tables and between clusters. */
export interface Weather {
  /** no more faults for a while, and none of those that were arranged on the way to tables */
  rest(): Promise<void>
  goOn(): void
  /** a host was started again, and its tables are reached elsewhere */
  moved(from: Tapped, to: Tapped): Promise<void>
  /** how many of each kind */
  counts: Readonly<Record<string, number>>
  end(): Promise<void>
}

/** Milliseconds between two faults, on average. */
const SPACING_MS = 3000
/** For so long a transaction takes its items, as on AWS. */
const TAKES_MS = 5
const SKIP = 20
const WEATHER_TIMEOUT_MS = 30_000

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

type Tapped = Pick<Host, 'tap_url' | 'control_token'>

interface Site {
  hosts: readonly Tapped[]
  taps: readonly Pick<LinkTap, 'arrange'>[]
  chance: () => number
}

/** Tells the tap before a host's tables something. */
export const order = (host: Tapped, command: string, body: object = {}) =>
  fetch(`${host.tap_url}/_tap/${command}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${host.control_token}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(WEATHER_TIMEOUT_MS),
  })

export async function startWeather({ hosts: first, taps, chance }: Site): Promise<Weather> {
  const counts: Record<string, number> = {}
  let [ended, resting, hosts] = [false, false, [...first]]
  const one = <T>(of: readonly T[]): T => of[Math.floor(chance() * of.length)] as T
  const note = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  const calm = () => Promise.all(hosts.map(host => order(host, 'mend')))
  const asOnAws = (host: Tapped) => order(host, 'aws', { takesFor: TAKES_MS })
  await Promise.all(hosts.map(asOnAws))
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
      if (!ended && !resting) await strike().catch(() => note('not taken'))
    }
  })()
  return {
    counts,
    rest: async () => {
      resting = true
      await insist(calm)
    },
    goOn: () => {
      resting = false
    },
    moved: async (from, to) => {
      hosts = hosts.map(one => (one.tap_url === from.tap_url ? to : one))
      await insist(() => asOnAws(to))
    },
    end: async () => {
      ended = true
      await running
      await insist(calm)
    },
  }
}
