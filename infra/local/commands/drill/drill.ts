import { rmSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import {
  createDrillRecord,
  type DrillDependencies,
  type DrillMember,
} from '../../../../shared/replication/drill/run.ts'
import { drillSteps } from '../../../../shared/replication/drill/steps.ts'
import type { ServingInterruptions } from '../../../../shared/replication/drill/watch.ts'
import { lossReportShape } from '../../../../shared/set/loss.ts'
import { WAIT_LIMITS_MS } from '../../../../shared/set/plan.ts'
import { runUntilGoal, type SetRunInput } from '../../../../shared/set/run.ts'
import type { ObservedCluster } from '../../../../shared/set/status.ts'
import { readShape } from '../../../../shared/values/read-shape.ts'
import { pollWhilePending } from '../../../../shared/values/retrying.ts'
import { askCluster, systemSetClock } from '../../../command/set/look.ts'
import { createLocalAuthority } from '../../gateway/tls.ts'
import type { LocalHost } from '../../host/host.ts'
import { makeTemporaryDirectory } from '../../os/temporary.ts'
import {
  drClientConnection,
  readDrStatus,
  requestReplication,
  toSetCluster,
  waitUntilTrue,
} from '../../pair/dr-client.ts'
import {
  type ClusterPair,
  joinLocalPair,
  type PairOptions,
  startClusterPair,
  waitUntilPairSettled,
} from '../../pair/pair.ts'
import { createLoginProof, demonstrateLogins } from '../start/demonstration.ts'
import { createFailoverToken } from './failover-token.ts'
import { watchClusterHealth } from './health.ts'
import { type LinkProxy, startLinkProxy } from './link-proxy.ts'
import { findUnknownLogins, type LoginLoad, startLoginLoad } from './load.ts'

/** The result of a rehearsed takeover. */
export interface TakeoverResult extends ServingInterruptions {
  /** logins acknowledged during the takeover */
  logins: number
  /** accessors of acknowledged logins that the new primary does not have */
  lost: readonly string[]
}

/**
 * The result of a disaster. `reported` lists the accessors of the tokens in the former primary's loss report.
 */
export interface DisasterResult extends TakeoverResult {
  reported: readonly string[]
}

/** The result of a part of a drill, with the name of the part for operators. */
export type PlayedPart = { part: string } & TakeoverResult & Partial<DisasterResult>

/** Two clusters of a set with login workloads, and a proxy between them that can cut the link. */
export interface DrillRehearsal {
  east: LocalHost
  west: LocalHost
  /** a proxy on the link between west and east */
  proxy: LinkProxy
  load: LoginLoad
  /** a prepared operation token */
  token: string
  /** root token of the set */
  root: string
  /** receives progress messages */
  say(text: string): void
  close(): Promise<void>
}

/** `pauseMs`: milliseconds between two logins of a workload. */
type RehearsalOptions = PairOptions & { pauseMs?: number }

/** East's address as west uses it, and the CA certificate for this address: a file that `caBundles` ships. */
export interface PrimaryAddress {
  address: string
  ca_file: string
}

/**
 * Starts two clusters under load.
 * @param say receives progress messages
 * @param joined makes west the secondary of east; tests may join the clusters in another way
 */
export async function startDrillRehearsal(
  { pauseMs, ...options }: RehearsalOptions,
  say: (text: string) => void,
  joined: (pair: ClusterPair<LocalHost>, met: PrimaryAddress) => Promise<unknown> = (pair, met) =>
    joinLocalPair(pair, say, met),
): Promise<DrillRehearsal> {
  const authority = createLocalAuthority('drill')
  const caBundles = makeTemporaryDirectory()
  writeFileSync(`${caBundles}/drill.pem`, authority.cert)
  const pair = await startClusterPair({ ...options, caBundles })
  rmSync(caBundles, { recursive: true })
  const { east, west } = pair
  try {
    // the proxy ends TLS like a load balancer with a certificate of the organisation
    const proxy = await startLinkProxy(new URL(east.base_url).origin, authority.issue('east'))
    await joined(pair, { address: proxy.url, ca_file: 'drill.pem' })
    await demonstrateLogins(east, () => ({}))
    const token = await createFailoverToken(east)
    const load = startLoginLoad(east, await createLoginProof(east), pauseMs)
    const close = async () => {
      await load.end()
      await proxy.close()
      await pair.close()
    }
    return { east, west, proxy, load, token, root: east.root_token, say, close }
  } catch (error) {
    await pair.close()
    throw error
  }
}

const WRITES_BEFORE_SWITCH_MS = 1000

/** The steps that operators take in a role change. */
export interface RoleChangeSteps {
  promote(): Promise<unknown>
  /** makes the former primary follow the new primary */
  rejoin(): Promise<unknown>
}

/** Switches the roles of two running clusters: the primary hands over, and then follows the new primary. */
export async function switchPrimaryOver(
  { load, root }: DrillRehearsal,
  { from, to }: { from: LocalHost; to: LocalHost },
  { promote, rejoin }: RoleChangeSteps,
): Promise<TakeoverResult> {
  const before = load.acknowledged.length
  const watch = watchClusterHealth([from, to])
  await setTimeout(WRITES_BEFORE_SWITCH_MS)
  await promote()
  load.sendTo(to)
  await setTimeout(WRITES_BEFORE_SWITCH_MS)
  const watched = await watch()
  const logins = load.acknowledged.slice(before)
  const lost = await findUnknownLogins(to, root, logins)
  await rejoin()
  await waitUntilCaughtUp(from, to)
  return { ...watched, logins: logins.length, lost }
}

/** Returns the dependencies of a drill between two hosts. @param token an operation token */
export const createLocalDrilling = (
  hosts: Readonly<Record<DrillMember, Pick<LocalHost, 'base_url' | 'cluster'>>>,
  token: string,
): DrillDependencies => ({
  ask: (to, method, path, options) =>
    askCluster(hosts[to].base_url, path, { method, ...options }, drClientConnection),
  clock: systemSetClock,
  deadline: Number.POSITIVE_INFINITY,
  token: async () => token,
  ownName: async () => hosts.own.cluster,
})

/**
 * Runs the drill of the service under load: a planned switch and the switch back. @param played receives the
 * result of each part
 */
export async function runSwitchDrill(rehearsal: DrillRehearsal, played: PlayedPart[]): Promise<void> {
  const { east, west, token, say } = rehearsal
  const drilling = createLocalDrilling({ own: east, peer: west }, token)
  let drill = createDrillRecord('local', Date.now())
  const play = async (...names: string[]): Promise<void> => {
    for (const { name, work } of drillSteps.filter(one => names.includes(one.name))) {
      say(`Step ${name}.`)
      drill = { ...drill, step: name, stepAt: Date.now() }
      const when = { everyMs: WRITES_BEFORE_SWITCH_MS, until: Number.POSITIVE_INFINITY }
      const done = await pollWhilePending(systemSetClock, when, () => work(drilling, drill))
      if (done.ok) drill = { ...drill, ...done.value }
    }
  }
  await play('check')
  say('Planned switch: west takes over, then east follows west.')
  const there = await switchPrimaryOver(
    rehearsal,
    { from: east, to: west },
    { promote: () => play('there'), rejoin: () => play('follow', 'settle') },
  )
  played.push({ part: 'Planned switch, east to west', ...there })
  say('Switch back: east takes over, then west follows east.')
  const back = await switchPrimaryOver(
    rehearsal,
    { from: west, to: east },
    { promote: () => play('back'), rejoin: () => play('follow back', 'settle back') },
  )
  played.push({ part: 'Planned switch, west to east', ...back })
}

/**
 * Waits until a cluster streams from another cluster and has every entry that existed when the wait began.
 * The load may add entries during the wait.
 */
export async function waitUntilCaughtUp(cluster: LocalHost, primary: LocalHost): Promise<void> {
  let wanted: number | undefined
  await waitUntilTrue(`${cluster.cluster} does not catch up with ${primary.cluster}`, async () => {
    const [own, other] = await Promise.all([readDrStatus(cluster), readDrStatus(primary)])
    wanted ??= other.last
    return own.state === 'stream-wals' && (own.position ?? 0) >= wanted
  })
}

/**
 * Plays a disaster. West loses the link to the primary east, which serves on for a while and is then lost to
 * its clients too. West is promoted by force. Then the load stops and the link heals: east stops serving
 * without an operator, follows west and reports its lost commits.
 * @param by `healed` may speed up the fence, which otherwise takes up to a minute
 */
export async function runDisasterDrill(
  rehearsal: DrillRehearsal,
  by: Partial<RoleChangeSteps & { healed(): Promise<unknown> }> = {},
): Promise<DisasterResult> {
  const { east, west, proxy, load, token, root, say } = rehearsal
  let isCut = true
  const [from, to] = [toSetCluster(east, token, say), toSetCluster(west, token, say)]
  const away: ObservedCluster = {
    name: east.cluster,
    silent: { why: `${east.cluster} is cut off`, answered: 'nothing' },
  }
  const program: SetRunInput = {
    clock: systemSetClock,
    goal: { kind: 'takeOver', allowedActions: ['force', 'follow'], waits: WAIT_LIMITS_MS },
    clusters: { from: { ...from, observe: async () => (isCut ? away : from.observe()) }, to },
    operationToken: async () => token,
  }
  const doing = {
    promote: () => runUntilGoal(program, 'promote'),
    rejoin: () => runUntilGoal(program),
    healed: async () => undefined,
    ...by,
  }
  const before = load.acknowledged.length
  await waitUntilCaughtUp(west, east)
  say('Disaster: west and its clients can no longer reach east. East still serves for a while.')
  proxy.cut()
  await setTimeout(WRITES_BEFORE_SWITCH_MS)
  load.sendTo(west)
  await setTimeout(WRITES_BEFORE_SWITCH_MS / 2)
  const watch = watchClusterHealth([west])
  say('West is promoted by force.')
  await doing.promote()
  await setTimeout(WRITES_BEFORE_SWITCH_MS)
  const watched = await watch()
  await load.end()
  // the primary may not have replicated logins either that it acknowledged just before the cut
  const lost = await findUnknownLogins(west, root, load.acknowledged)
  say('West can reach east again. East stops serving when west calls, within a minute.')
  proxy.heal()
  isCut = false
  await doing.healed()
  await waitUntilTrue(
    'east does not stop serving',
    async () => (await readDrStatus(east)).mode === 'secondary',
  )
  say('East follows west, and reports the commits that only east had.')
  await doing.rejoin()
  await waitUntilPairSettled({ east: west, west: east })
  return {
    ...watched,
    logins: load.acknowledged.length - before,
    lost,
    reported: await readReportedTokens(east, token),
  }
}

/** Returns the accessors of the tokens in a cluster's loss report, once the report is complete. */
export async function readReportedTokens(cluster: LocalHost, token: string): Promise<string[]> {
  const named = new Set<string>()
  let after = ''
  await waitUntilTrue(`the loss report of ${cluster.cluster} is not complete`, async () => {
    const path = `divergence?after=${encodeURIComponent(after)}`
    const { data } = await requestReplication(cluster, path, undefined, token)
    const { next = '', complete } = readShape(lossReportShape, data).fields
    const found = JSON.stringify(data ?? {}).matchAll(/"token#([^"#]+)"/g)
    for (const [, accessor = ''] of found) named.add(accessor)
    after = next
    return next === '' && complete === true
  })
  return [...named]
}
