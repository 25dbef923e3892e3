import { setTimeout } from 'node:timers/promises'
import { demonstrate, loginProof } from '../demonstration.ts'
import { failoverToken } from '../drill/failover-token.ts'
import { watchHealth } from '../drill/health.ts'
import { type LinkTap, startLinkTap } from '../link-tap.ts'
import { join, settled, startPair } from '../pair.ts'
import { changeRole, insist, type SoakSet } from './change.ts'
import type { ChangeSeen, SoakSeen } from './judge.ts'
import { startPacedLoad } from './paced-load.ts'
import { chanceFrom, changesOf, type SoakPlan } from './plan.ts'
import { startWeather, type Weather } from './weather.ts'

const MINUTE = 60_000
const SAMPLE_MS = 5000
/** Signatures of proofs count for a quarter of an hour. */
const PROOF_MS = 5 * MINUTE

/**
 * Two clusters under load and in bad weather, whose roles change again and again, as planned and by force.
 * @param say told how it goes
 */
export async function soak(plan: SoakPlan, say: (text: string) => void): Promise<SoakSeen> {
  const { set, weather, close } = await startSoak(plan, say)
  const memory: number[] = []
  const sampling = setInterval(() => memory.push(mebibytes()), SAMPLE_MS)
  const { load } = set
  const renewing = setInterval(() => void loginProof(set.primary).then(load.use), PROOF_MS)
  try {
    const { changes, faults, mostAtOnce } = await throughAll(plan, set, say)
    await weather.end()
    await load.end()
    clearInterval(sampling)
    const end = await settled({ east: set.primary, west: set.secondary }).then(
      ({ east: { position, root } }) => ({ position, root }),
      (error: Error) => error.message,
    )
    return { changes, faults, mostAtOnce, ...load.counts(), end, memory, weather: weather.counts }
  } finally {
    clearInterval(sampling)
    clearInterval(renewing)
    await weather.end()
    await load.end()
    await close()
  }
}

async function startSoak(
  { rate, seed }: SoakPlan,
  say: (text: string) => void,
): Promise<{ set: SoakSet; weather: Weather; close: () => Promise<void> }> {
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const one of closers.reverse()) await one()
  }
  try {
    const { east, west, ...pair } = await startPair({ port: 0, memory: true, tap: true })
    closers.push(pair.close)
    const tapped = async ({ base_url }: { base_url: string }): Promise<LinkTap> => {
      const tap = await startLinkTap(new URL(base_url).origin)
      closers.push(tap.close)
      return tap
    }
    const taps = { east: await tapped(east), west: await tapped(west) }
    // west takes the address at which it is asked to join for its own, by which others reach it
    const through = { ...west, base_url: `${taps.west.url}/v1` }
    // it goes on by itself where that takes longer than a request may
    await insist(() => join({ east, west: through, close: pair.close }, say, { address: taps.east.url }))
    await demonstrate(east, () => ({}))
    const token = await failoverToken(east)
    const load = startPacedLoad(east, await loginProof(east), rate)
    const chance = chanceFrom(seed)
    const all = Object.values(taps)
    const weather = await startWeather({ hosts: [east, west], taps: all, chance })
    const root = east.root_token
    return {
      set: { primary: east, secondary: west, taps: all, load, chance, token, root, names: 0 },
      weather,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** All changes of role, each at its time. Of one that does not come about nothing follows. */
async function throughAll(
  plan: SoakPlan,
  set: SoakSet,
  say: (text: string) => void,
): Promise<Pick<SoakSeen, 'changes' | 'faults' | 'mostAtOnce'>> {
  const begun = Date.now()
  const sinceMinute = (at: number) => setTimeout(Math.max(0, begun + at * MINUTE - Date.now()))
  const changes: ChangeSeen[] = []
  const faults: string[] = []
  let mostAtOnce = 0
  let watch = watchHealth([set.primary, set.secondary])
  const noteWatched = async (counts: boolean) => {
    const { mostAtOnce: most, witness } = await watch()
    if (counts && most > 1) faults.push(`both served: ${witness}`)
    if (counts) mostAtOnce = Math.max(mostAtOnce, most)
  }
  try {
    for (const { kind, at } of changesOf(plan)) {
      await sinceMinute(at)
      if (kind === 'forced') {
        await noteWatched(true)
        watch = watchHealth([set.primary, set.secondary])
      }
      const seen = await changeRole(set, kind)
      changes.push(seen)
      // both may serve for a while where one of them was cut off
      await noteWatched(seen.kind === 'planned')
      watch = watchHealth([set.primary, set.secondary])
      say(toldOf(at, seen, set.load.counts()))
    }
    await sinceMinute(plan.minutes)
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error))
  }
  await noteWatched(faults.length === 0)
  return { changes, faults, mostAtOnce }
}

const toldOf = (
  minute: number,
  { kind, to, seconds, looked, lost, unnamed }: ChangeSeen,
  { logins, failed }: Pick<SoakSeen, 'logins' | 'failed'>,
): string =>
  `minute ${minute}: ${kind} change to ${to}, ${seconds} s; ${looked} logins looked up, ${lost.length} lost, ${unnamed.length} of them unnamed; so far ${logins} logins, ${failed} failed; ${mebibytes()} MiB`

const mebibytes = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20)
