import { setTimeout } from 'node:timers/promises'
import { type LinkTap, startLinkTap } from '../../faults/link-tap.ts'
import { join, settled } from '../../pair/pair.ts'
import { failoverToken } from '../drill/failover-token.ts'
import { watchHealth } from '../drill/health.ts'
import { demonstrate, loginProof } from '../start/demonstration.ts'
import { changeRole, type SoakSet } from './change.ts'
import { startSoakHosts } from './hosts.ts'
import { insist } from './insist.ts'
import type { ChangeSeen, SoakSeen } from './judge.ts'
import { startPacedLoad } from './paced-load.ts'
import { chanceFrom, changesOf, type SoakPlan } from './plan.ts'
import { startWeather, type Weather } from './weather.ts'

const MINUTE_MS = 60_000
const SAMPLE_MS = 5000
/** Signatures of proofs count for a quarter of an hour. */
const PROOF_MS = 5 * MINUTE_MS

/** Minutes behind the last one in which all comes to rest; a slow machine takes most of them. */
const REST_MINUTES = 15
/** Milliseconds for which the end of the clusters is waited for: what was seen is told in any case. */
const CLOSING_MS = 60_000

/**
 * Two clusters under load and in bad weather, whose roles change again and again, as planned and by force.
 * @param say told how it goes
 * @param stop ends it early: what was seen until then is judged
 */
export async function soak(
  plan: SoakPlan,
  say: (text: string) => void,
  stop: AbortSignal,
): Promise<SoakSeen> {
  const { set, weather, close } = await startSoak(plan, say)
  const { load } = set
  const memory: number[] = []
  const course: Course = { changes: [], faults: [], mostAtOnce: 0, leftOut: 0 }
  const sampling = setInterval(() => memory.push(mebibytes()), SAMPLE_MS)
  const renewing = setInterval(() => {
    // one that cannot be had now is had the next time: a proof counts for longer than that
    void loginProof(set.primary).then(load.use, () => undefined)
  }, PROOF_MS)
  const toItsEnd = async (): Promise<SoakSeen['end']> => {
    await throughAll(plan, { set, say, stop, course })
    clearInterval(sampling)
    say('All comes to rest.')
    await weather.end()
    await load.end()
    const { east } = await settled({ east: set.primary, west: set.secondary })
    return { position: east.position, root: east.root }
  }
  const limit = plan.minutes + REST_MINUTES
  try {
    const end = await within(limit * MINUTE_MS, toItsEnd(), `it has not come to its end in ${limit} minutes`)
    return { ...course, ...load.counts(), end, memory, weather: weather.counts }
  } finally {
    clearInterval(sampling)
    clearInterval(renewing)
    await within(CLOSING_MS, close(), 'the clusters do not end').then(failed => failed && say(String(failed)))
  }
}

/** What work comes to, or why it comes to nothing: it failed, or took too long. */
async function within<T>(ms: number, work: Promise<T>, otherwise: string): Promise<T | string> {
  const over = new AbortController()
  try {
    return await Promise.race([
      work.catch((error: unknown) => (error instanceof Error ? error.message : String(error))),
      setTimeout(ms, otherwise, { signal: over.signal }),
    ])
  } finally {
    over.abort()
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
    const { east, west, ...hosts } = await startSoakHosts()
    closers.push(hosts.close)
    const tapped = async ({ base_url }: { base_url: string }): Promise<LinkTap> => {
      const tap = await startLinkTap(new URL(base_url).origin)
      closers.push(tap.close)
      return tap
    }
    const taps = { east: await tapped(east), west: await tapped(west) }
    // west takes the address at which it is asked to join for its own, by which others reach it
    const through = { ...west, base_url: `${taps.west.url}/v1` }
    // it goes on by itself where that takes longer than a request may
    await insist(() => join({ east, west: through }, say, { address: taps.east.url }))
    await demonstrate(east, () => ({}))
    const token = await failoverToken(east)
    const load = startPacedLoad(east, await loginProof(east), rate)
    const chance = chanceFrom(seed)
    const all = Object.values(taps)
    const weather = await startWeather({ hosts: [east, west], taps: all, chance })
    const root = east.root_token
    return {
      set: {
        primary: east,
        secondary: west,
        taps: all,
        load,
        hosts,
        weather,
        chance,
        token,
        root,
        names: 0,
        disasters: 0,
      },
      weather,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** What has been seen of changes of role so far. */
type Course = Pick<SoakSeen, 'faults' | 'mostAtOnce' | 'leftOut'> & {
  changes: ChangeSeen[]
  faults: string[]
}

interface Running {
  set: SoakSet
  say: (text: string) => void
  stop: AbortSignal
  course: Course
}

/**
 * All changes of role, each at its time. Of one that does not come about nothing follows. On a machine that takes longer for
 * them than the time there is, the last ones are left out.
 */
async function throughAll(plan: SoakPlan, { set, say, stop, course }: Running): Promise<void> {
  const begun = Date.now()
  const sinceMinute = (at: number) =>
    setTimeout(Math.max(0, begun + at * MINUTE_MS - Date.now()), undefined, { signal: stop }).catch(
      () => undefined,
    )
  const isOver = () => stop.aborted || Date.now() > begun + plan.minutes * MINUTE_MS
  let watch = watchHealth([set.primary, set.secondary])
  const noteWatched = async (counts: boolean) => {
    const { mostAtOnce: most, witness } = await watch()
    if (counts && most > 1) course.faults.push(`both served: ${witness}`)
    if (counts) course.mostAtOnce = Math.max(course.mostAtOnce, most)
  }
  try {
    for (const { kind, at } of changesOf(plan)) {
      await sinceMinute(at)
      if (isOver()) {
        course.leftOut += 1
        continue
      }
      if (kind === 'forced') {
        await noteWatched(true)
        watch = watchHealth([set.primary, set.secondary])
      }
      const seen = await changeRole(set, kind)
      course.changes.push(seen)
      // both may serve for a while where one of them was cut off
      await noteWatched(seen.kind === 'planned')
      watch = watchHealth([set.primary, set.secondary])
      say(toldOf(at, seen, set.load.counts()))
    }
    await sinceMinute(plan.minutes)
  } catch (error) {
    course.faults.push(error instanceof Error ? error.message : String(error))
  }
  await noteWatched(course.faults.length === 0)
}

const toldOf = (
  minute: number,
  { kind, why, promotion, servedOn, to, seconds, looked, lost, unnamed }: ChangeSeen,
  { logins, failed }: Pick<SoakSeen, 'logins' | 'failed'>,
): string =>
  `minute ${minute}: ${kind} change to ${to}${why === undefined ? '' : ` (the primary ${TOLD[why]}; promoted in ${promotion} s, which served for ${servedOn} s after it came back)`}, ${seconds} s; ${looked} logins looked up, ${lost.length} lost, ${unnamed.length} of them unnamed; so far ${logins} logins, ${failed} failed; ${mebibytes()} MiB`

const TOLD = {
  cut: 'was cut off',
  hanging: 'had a storage that hung',
  killed: 'was killed, and started again',
} as const

const mebibytes = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20)
