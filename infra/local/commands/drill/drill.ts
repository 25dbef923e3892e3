import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import type { Drill } from '../../../../shared/model/drill.ts'
import type { Drilling } from '../../../../shared/replication/drill/run.ts'
import { drillSteps } from '../../../../shared/replication/drill/steps.ts'
import type { Watched } from '../../../../shared/replication/drill/watch.ts'
import { lossShape } from '../../../../shared/set/loss.ts'
import { waits } from '../../../../shared/set/plan.ts'
import { type Program, repointSecondary, run } from '../../../../shared/set/run.ts'
import type { ObservedCluster } from '../../../../shared/set/status.ts'
import { isObject } from '../../../../shared/values/json.ts'
import { readShape } from '../../../../shared/values/read-shape.ts'
import { poll } from '../../../../shared/values/retrying.ts'
import { describeRefusal, sendRequest } from '../../../command/ask.ts'
import { clock } from '../../../command/set/look.ts'
import type { LinkTap } from '../../faults/link-tap.ts'
import { startLinkTap } from '../../faults/link-tap.ts'
import { newAuthority } from '../../gateway/tls.ts'
import type { Host } from '../../host/host.ts'
import { askReplication, connection, drStatusOf, setClusterOf, until } from '../../pair/dr-client.ts'
import { type ClusterPair, join, type PairOptions, settled, startPair } from '../../pair/pair.ts'
import { demonstrate, loginProof } from '../start/demonstration.ts'
import { failoverToken } from './failover-token.ts'
import { watchHealth } from './health.ts'
import { type Load, startLoad, unknownAt } from './load.ts'

/** What a rehearsed take-over came to. */
export interface Rehearsed extends Watched {
  /** logins acknowledged in the whole course of it */
  logins: number
  /** accessors of acknowledged logins that the new primary does not know */
  lost: readonly string[]
}

/** What a disaster came to; `reported`: accessors of the tokens that the report of the old primary names. */
export interface Disaster extends Rehearsed {
  reported: readonly string[]
}

/** Two clusters of a set with workloads that log in, and a place between them where the link can be cut. */
export interface Rehearsal {
  east: Host
  west: Host
  /** between west and east */
  tap: LinkTap
  load: Load
  /** a prepared operation token */
  token: string
  /** the set's root token */
  root: string
  /** told what takes long, and what is asked again */
  say(text: string): void
  close(): Promise<void>
}

/** `pauseMs`: milliseconds for which each workload rests between two logins. */
type RehearsalOptions = PairOptions & { pauseMs?: number }

/** What west knows as east's address, and what vouches for the certificate there: a file that `caBundles` ships. */
export interface Met {
  address: string
  ca_file: string
}

/**
 * Starts a pair under load.
 * @param say told what takes long
 * @param joined makes west the secondary of east; another may do it instead
 */
export async function startRehearsal(
  { pauseMs, ...options }: RehearsalOptions,
  say: (text: string) => void,
  joined: (pair: ClusterPair<Host>, met: Met) => Promise<unknown> = (pair, met) => join(pair, say, met),
): Promise<Rehearsal> {
  const authority = newAuthority('drill')
  const caBundles = mkdtempSync(`${tmpdir()}/cloud-auth-`)
  writeFileSync(`${caBundles}/drill.pem`, authority.cert)
  const pair = await startPair({ ...options, caBundles })
  rmSync(caBundles, { recursive: true })
  const { east, west } = pair
  try {
    // as behind a balancer, which ends TLS by a certificate of the organisation's own
    const tap = await startLinkTap(new URL(east.base_url).origin, authority.issue('east'))
    await joined(pair, { address: tap.url, ca_file: 'drill.pem' })
    await demonstrate(east, () => ({}))
    const token = await failoverToken(east)
    const load = startLoad(east, await loginProof(east), pauseMs)
    const close = async () => {
      await load.end()
      await tap.close()
      await pair.close()
    }
    return { east, west, tap, load, token, root: east.root_token, say, close }
  } catch (error) {
    await pair.close()
    throw error
  }
}

const SOME_MS = 1000

/** What operators do in a change of roles. */
export interface Doing {
  promote(): Promise<unknown>
  /** the former primary follows the new one */
  rejoin(): Promise<unknown>
}

/** One cluster takes over from the other, which is well and hands over; then the other follows it. */
export async function switchOver(
  { load, root, token, say }: Rehearsal,
  { from, to }: { from: Host; to: Host },
  {
    promote,
    rejoin = () => followAs(from.cluster, from, to, token, say),
  }: Pick<Doing, 'promote'> & Partial<Doing>,
): Promise<Rehearsed> {
  const before = load.acknowledged.length
  const watch = watchHealth([from, to])
  await setTimeout(SOME_MS)
  await promote()
  load.turnTo(to)
  await setTimeout(SOME_MS)
  const watched = await watch()
  const logins = load.acknowledged.slice(before)
  const lost = await unknownAt(to, root, logins)
  await rejoin()
  await caughtUp(from, to)
  return { ...watched, logins: logins.length, lost }
}

/** Plays the drill of the service under load, a planned switch and the way back. @param seen what each came to is put there */
export async function playDrill(
  rehearsal: Rehearsal,
  seen: { there?: Rehearsed; back?: Rehearsed },
): Promise<void> {
  const { east, west, token, say } = rehearsal
  const hosts = { own: east, peer: west }
  const drilling: Drilling = {
    clock,
    deadline: Number.POSITIVE_INFINITY,
    ask: async (to, method, path, asking = {}) => {
      const heard = await sendRequest(hosts[to].base_url, path, { method, ...asking }, connection)
      const { status, body } = heard
      const text = status < 300 ? '' : describeRefusal(heard)
      return { status, data: isObject(body['data']) ? body['data'] : {}, text }
    },
    token: async () => token,
    ownName: async () => hosts.own.cluster,
  }
  const nothingYet = { unserved: null, lost: null }
  const times = { startedAt: Date.now(), stepAt: Date.now() }
  const ways = { there: nothingYet, back: nothingYet }
  let drill: Drill = { id: 'local', status: 'running', step: '', peer: '', ...times, ...ways }
  const play = async (...names: string[]): Promise<void> => {
    for (const { name, work } of drillSteps.filter(one => names.includes(one.name))) {
      say(`Step ${name}.`)
      drill = { ...drill, step: name, stepAt: Date.now() }
      const when = { everyMs: SOME_MS, until: Number.POSITIVE_INFINITY }
      const done = await poll(clock, when, () => work(drilling, drill))
      if (done.ok) drill = { ...drill, ...done.value }
    }
  }
  const steps = (promote: string, ...rejoin: string[]): Doing => ({
    promote: () => play(promote),
    rejoin: () => play(...rejoin),
  })
  await play('check')
  say('Planned switch: west takes over, then east follows it.')
  seen.there = await switchOver(rehearsal, { from: east, to: west }, steps('there', 'follow', 'settle'))
  say('Back again: east takes over, then west follows it.')
  seen.back = await switchOver(
    rehearsal,
    { from: west, to: east },
    steps('back', 'follow back', 'settle back'),
  )
}

/** A cluster of the set follows a primary under a name; an earlier admission under it ends. @param say as of `setClusterOf` */
export const followAs = (
  id: string,
  cluster: Host,
  primary: Host,
  token: string,
  say?: Rehearsal['say'],
): Promise<void> =>
  repointSecondary(
    { primary: setClusterOf(primary, token, say), secondary: setClusterOf(cluster, token, say) },
    id,
    { dr_operation_token: token },
  )

/** Waits until a cluster follows another one, and has all that the other had when this began. More may come all the time. */
export async function caughtUp(cluster: Host, primary: Host): Promise<void> {
  let wanted: number | undefined
  await until(`${cluster.cluster} does not catch up with ${primary.cluster}`, async () => {
    const [own, other] = await Promise.all([drStatusOf(cluster), drStatusOf(primary)])
    wanted ??= other.last
    return own.state === 'stream-wals' && (own.position ?? 0) >= wanted
  })
}

/**
 * East, the primary, cannot be reached by west any more, goes on for a while, and is then lost to its clients as well. West
 * takes over by force. Then the workloads rest, and east is back: it closes by itself, follows west, and tells what only it had.
 * @param by `healed`: may hurry the fence along, which otherwise comes within a minute
 */
export async function disaster(
  rehearsal: Rehearsal,
  by: Partial<Doing & { healed(): Promise<unknown> }> = {},
): Promise<Disaster> {
  const { east, west, tap, load, token, root, say } = rehearsal
  let isCut = true
  const [from, to] = [setClusterOf(east, token, say), setClusterOf(west, token, say)]
  const away: ObservedCluster = { name: east.cluster, silent: { why: 'it is cut off', answered: 'nothing' } }
  const program: Program = {
    clock,
    goal: { kind: 'takeOver', allowedActions: ['force', 'follow'], waits },
    clusters: { from: { ...from, observe: async () => (isCut ? away : from.observe()) }, to },
    operationToken: async () => token,
  }
  const doing = {
    promote: () => run(program, 'promote'),
    rejoin: () => run(program),
    healed: async () => undefined,
    ...by,
  }
  const before = load.acknowledged.length
  await caughtUp(west, east)
  say('Disaster: west and its clients do not reach east any more, which goes on for a while.')
  tap.cut('both')
  await setTimeout(SOME_MS)
  load.turnTo(west)
  await setTimeout(SOME_MS / 2)
  const watch = watchHealth([west])
  say('West is promoted by force.')
  await doing.promote()
  await setTimeout(SOME_MS)
  const watched = await watch()
  await load.end()
  // what was acknowledged a moment before the cut may not have arrived either
  const lost = await unknownAt(west, root, load.acknowledged)
  say('East can be reached again. It closes once it hears of west, which asks for it every minute.')
  tap.heal()
  isCut = false
  await doing.healed()
  await until('east does not close', async () => (await drStatusOf(east)).mode === 'secondary')
  say('East follows west, and writes down what only it had.')
  await doing.rejoin()
  await settled({ east: west, west: east })
  return {
    ...watched,
    logins: load.acknowledged.length - before,
    lost,
    reported: await reportedTokens(east, token),
  }
}

/** Accessors of the tokens that a cluster's report names, once that is complete. */
export async function reportedTokens(cluster: Host, token: string): Promise<string[]> {
  const named = new Set<string>()
  let after = ''
  await until(`the report of ${cluster.cluster} is not complete`, async () => {
    const path = `divergence?after=${encodeURIComponent(after)}`
    const { data } = await askReplication(cluster, path, undefined, token)
    const { next = '', complete } = readShape(lossShape, data).fields
    const found = JSON.stringify(data ?? {}).matchAll(/"token#([^"#]+)"/g)
    for (const [, accessor = ''] of found) named.add(accessor)
    after = next
    return next === '' && complete === true
  })
  return [...named]
}
