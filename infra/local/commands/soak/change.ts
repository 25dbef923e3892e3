import { setTimeout } from 'node:timers/promises'
import type { LinkTap } from '../../faults/link-tap.ts'
import type { Host } from '../../host/host.ts'
import { askReplication, drStatusOf, until } from '../../pair/dr-client.ts'
import { caughtUp, followAs, reportedTokens } from '../drill/drill.ts'
import type { SoakHosts } from './hosts.ts'
import { insist } from './insist.ts'
import { type ChangeSeen, type Reason, reasons } from './judge.ts'
import { unknownOf } from './look-up.ts'
import type { PacedLoad } from './paced-load.ts'
import { order, type Weather } from './weather.ts'

/** Two clusters, of which now the one and now the other is the primary. */
export interface SoakSet {
  primary: Host
  secondary: Host
  /** between them, one for each */
  taps: readonly LinkTap[]
  load: PacedLoad
  hosts: Pick<SoakHosts, 'kill'>
  weather: Pick<Weather, 'rest' | 'goOn' | 'moved'>
  /** how often a primary was done without */
  disasters: number
  chance: () => number
  /** a prepared operation token, and the set's root token */
  token: string
  root: string
  /** names given to clusters so far */
  names: number
}

const CUT_MS = 3000
/** Logins of so long before a change are all looked up; of earlier ones some. */
const AT_RISK_MS = 15_000
const SOME = 300

/**
 * Has the secondary take over, and the other follow it. A primary that nobody has heard for a minute is done without,
 * so a planned change may come to one by force. @throws Error when it does not come about
 */
export async function changeRole(set: SoakSet, wanted: ChangeSeen['kind']): Promise<ChangeSeen> {
  const { secondary: to, load, token, root } = set
  const begun = Date.now()
  const seen = wanted === 'forced' ? await forced(set) : await asPlanned(set)
  const from = set.primary
  const taken = load.taken()
  await insist(() => rejoined(set, from, to))
  await insist(() => caughtUp(from, to))
  const seconds = Math.round((Date.now() - begun) / 1000)
  ;[set.primary, set.secondary] = [to, from]
  const looked = taken
    .filter(({ at }) => at > begun - AT_RISK_MS || set.chance() < SOME / taken.length)
    .map(({ accessor }) => accessor)
  const lost = await unknownOf(to, root, looked)
  const named = new Set(lost.length > 0 ? await insist(() => reportedTokens(from, token)) : [])
  const unnamed = lost.filter(one => !named.has(one))
  return { ...seen, to: to.cluster, seconds, looked: looked.length, lost, unnamed }
}

type Outcome = Pick<ChangeSeen, 'kind' | 'why' | 'promotion' | 'servedOn'>

/** The primary is kept away, by one reason after the other, and is done without; then it comes back, and ends by itself. */
async function forced(set: SoakSet): Promise<Outcome> {
  const { secondary: to, load, token } = set
  const why = reasons[set.disasters % reasons.length] ?? 'cut'
  set.disasters += 1
  const back = await keptAway(set, why)
  await setTimeout(CUT_MS)
  load.turnTo(to)
  const began = Date.now()
  await insist(() => askReplication(to, 'secondary/promote', { dr_operation_token: token, force: true }))
  const promotion = secondsSince(began)
  await setTimeout(CUT_MS)
  const [servedOn] = await Promise.all([served(set.primary), back()])
  return { kind: 'forced', why, promotion, servedOn }
}

/** @returns how it comes back */
async function keptAway(set: SoakSet, why: Reason): Promise<() => Promise<void>> {
  const { primary, taps, hosts, weather } = set
  if (why === 'cut') {
    for (const tap of taps) tap.cut('both')
    return async () => {
      for (const tap of taps) tap.heal()
    }
  }
  if (why === 'hanging') {
    // its front answers, late; the weather would let go on what hangs
    await weather.rest()
    await insist(() => order(primary, 'fault', { kind: 'hold', skip: 0, times: 1_000_000 }))
    return async () => {
      await insist(() => order(primary, 'mend'))
      weather.goOn()
    }
  }
  const start = await hosts.kill(primary)
  return async () => {
    set.primary = await start()
    await weather.moved(primary, set.primary)
  }
}

/** For how many seconds a cluster still says that it is the primary, from now on. @throws Error when it goes on and on */
async function served(host: Pick<Host, 'base_url' | 'cluster'>): Promise<number> {
  const began = Date.now()
  let last = began
  await until(`${host.cluster} does not close`, async () => {
    const mode = await modeOf(host)
    if (mode === 'primary') last = Date.now()
    return mode === 'secondary'
  })
  return Math.round((last - began) / 100) / 10
}

const secondsSince = (began: number): number => Math.round((Date.now() - began) / 1000)

async function asPlanned({ secondary: to, load, token }: SoakSet): Promise<Outcome> {
  const answer = await insist(() => askReplication(to, 'secondary/promote', { dr_operation_token: token }))
  load.turnTo(to)
  return { kind: answer.warnings?.some(one => one.includes('does not answer')) ? 'forced' : 'planned' }
}

/**
 * The former primary follows the new one, under a name that was never used: an earlier try may still succeed. As in the
 * runbooks the names of earlier tries are revoked, for no cluster is admitted twice.
 */
async function rejoined(set: SoakSet, from: Host, to: Host): Promise<void> {
  if (await isConnected(from)) return
  const { known_secondaries: known } = await drStatusOf(to)
  for (const id of known as string[])
    if (id.startsWith(from.cluster)) await askReplication(to, 'primary/revoke-secondary', { id }, set.token)
  set.names += 1
  await followAs(`${from.cluster}-${set.names}`, from, to, set.token)
}

const isConnected = async (host: Host): Promise<boolean> =>
  (await drStatusOf(host).catch(() => undefined))?.['connection_state'] === 'ready'

const modeOf = async (host: Pick<Host, 'base_url'>): Promise<unknown> =>
  (await drStatusOf(host).catch(() => undefined))?.['mode']
