import { setTimeout } from 'node:timers/promises'
import { type RoleChangeStage, type SetGoal, WAIT_LIMITS_MS } from '../../../shared/set/plan.ts'
import { runUntilGoal, type SetCluster } from '../../../shared/set/run.ts'
import { dataOf, hasAnswered } from '../../../shared/set/status.ts'
import { HOST_REFRESHES } from '../../../shared/workers/workers.ts'
import type { ApiConnection } from '../connection.ts'
import { createSetCluster, type NamedCluster, observeNamedCluster, requestCluster } from '../set/look.ts'
import type { ProveCloud } from './cloud.ts'
import { invokeApi, textIn } from './cluster-api.ts'
import { type Pace, pollDelay } from './pace.ts'
import type { Probe } from './probes.ts'

/** A cluster of a run in two regions. Its name is the region. */
export interface PairedCluster extends NamedCluster {
  cloud: ProveCloud
  /** the address at which the other cluster reaches the cluster */
  linkAddress: string
  rootToken: string
  /** the recovery share; one share is the threshold */
  share: string
  ceremonyFunction: string
  /** functions that follow the primary and maintain the journal; the run starts them, because it has no schedules */
  scheduled: Readonly<Record<'pull' | 'journal', string>>
}

/** The clusters of a run in two regions. The first cluster is the primary at first. */
export interface ProvedPair {
  first: PairedCluster
  peer: PairedCluster
  connection: ApiConnection
  pace: Pace
  /** ARN that the roles of the pair's probes are bound to */
  principal: string
  say(text: string): void
  /** logs in to a cluster from the probe function. @throws Error unless all logins get a token */
  logIn(cluster: PairedCluster): Promise<void>
  /** deletes the API and the functions of the peer, as the loss of its region does */
  losePeer(): Promise<void>
}

/** The times of docs/look-up/limits.md, in milliseconds. */
const CLAIMED_MS = { planned: 4000, forced: 15_000 }
const SYNC_LIMIT_MS = 10 * 60_000
const SCHEDULE_MS = 60_000
const SCHEDULED = { version: '0', source: 'aws.events', 'detail-type': 'Scheduled Event', detail: {} }
const GENERATE = 'secondary/generate-operation-token'

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** Starts the scheduled functions of both clusters each minute. @returns a function that ends the repetition */
export function startSchedules({ first, peer, say }: ProvedPair): () => void {
  const ending = new AbortController()
  const start = ({ name, cloud }: PairedCluster, one: string): Promise<void> =>
    cloud
      .startFunction(one, SCHEDULED)
      .catch((error: Error) => say(`${one} in ${name} was not started: ${error.message}`))
  const repeat = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      for (const cluster of [first, peer])
        for (const one of Object.values(cluster.scheduled)) await start(cluster, one)
      await setTimeout(SCHEDULE_MS, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  }
  void repeat()
  return () => ending.abort()
}

/** Sends a request with the root token of the set, unless another token is given. */
const request = (
  { first, connection, say }: ProvedPair,
  cluster: PairedCluster,
  path: string,
  body?: object,
  token = first.rootToken,
) => requestCluster(cluster, path, body, { connection, token, say })

/** Generates an operation token from the recovery share of the set. */
async function generateOperationToken(pair: ProvedPair, cluster: PairedCluster): Promise<string> {
  const path = `sys/replication/dr/${GENERATE}`
  const begin = ['POST', `${path}/attempt`] as const
  const { nonce, otp } = await invokeApi(cluster.cloud, cluster.ceremonyFunction, begin, {})
  const { encoded_token } = await request(
    pair,
    cluster,
    `${path}/update`,
    { key: pair.first.share, nonce },
    '',
  )
  const decoded = await request(pair, cluster, 'sys/decode-token', { encoded_token, otp }, '')
  return textIn(dataOf(decoded), 'token')
}

/** Runs a set operation. @param from the cluster that joins, hands over or is lost @returns its duration */
async function reach(
  pair: ProvedPair,
  { from, to }: Readonly<Record<'from' | 'to', PairedCluster>>,
  goal: Omit<SetGoal, 'waits'>,
  until?: RoleChangeStage,
): Promise<number> {
  const { connection, pace, say, first } = pair
  const memberOf = (one: PairedCluster, token: string): SetCluster => ({
    ...createSetCluster(one, { connection, token, say }),
    admittedAs: one.name,
    address: one.linkAddress,
  })
  const start = pace.elapsed()
  let promoted = 0
  // each cluster refuses too many attempts in a minute
  const tokens = new Map<PairedCluster, Promise<string>>()
  const operationTokenOf = (cluster: PairedCluster): Promise<string> => {
    const token = tokens.get(cluster) ?? generateOperationToken(pair, cluster)
    tokens.set(cluster, token)
    return token
  }
  await runUntilGoal(
    {
      goal: { ...goal, waits: WAIT_LIMITS_MS },
      clusters: {
        from: memberOf(from, goal.kind === 'join' ? from.rootToken : first.rootToken),
        to: memberOf(to, first.rootToken),
      },
      clock: { now: Date.now, sleep: ms => pace.sleep(ms) },
      operationToken: side => operationTokenOf(side === 'from' ? from : to),
      ...(connection.ca === undefined ? {} : { trust: { ca_cert: connection.ca.join('\n') } }),
      afterStep: ({ do: done }, ms) => {
        if (done === 'promote') promoted = ms
      },
      report: say,
    },
    until,
  )
  return promoted || pace.elapsed() - start
}

/** Returns the root of a cluster's Merkle tree, which a schedule would refresh within ten minutes. */
async function readRoot({ connection }: ProvedPair, cluster: PairedCluster): Promise<string> {
  await cluster.cloud.invokeFunction(cluster.scheduled.journal, HOST_REFRESHES)
  const seen = await observeNamedCluster(cluster, connection)
  return hasAnswered(seen) ? seen.answer.status.root : ''
}

/** Creates a role on the primary, and waits until both clusters have the same new Merkle root. @returns the duration */
async function replicateRole(pair: ProvedPair, primary: PairedCluster, role: string): Promise<number> {
  const { pace, first, peer, principal } = pair
  const before = await readRoot(pair, primary)
  const start = pace.elapsed()
  await request(pair, primary, `auth/cloud/role/${role}`, {
    resolve_aws_unique_ids: false,
    auth_type: 'iam',
    bound_iam_principal_arn: [principal],
  })
  for (let tries = 0; pace.elapsed() - start < SYNC_LIMIT_MS; tries++) {
    const [one, other] = [await readRoot(pair, first), await readRoot(pair, peer)]
    if (one !== before && one === other) return pace.elapsed() - start
    await pace.sleep(pollDelay(tries))
  }
  throw new Error(`the clusters did not get the same Merkle root within ${seconds(SYNC_LIMIT_MS)}`)
}

/** The claims that a run in two regions checks, in this order. */
export const pairProbes: Readonly<Record<string, Probe<ProvedPair>>> = {
  link: async pair => {
    const { first, peer } = pair
    const joined = await reach(
      pair,
      { from: peer, to: first },
      { kind: 'join', primary: 'to', allowedActions: ['enable', 'admit'] },
    )
    const replicated = await replicateRole(pair, first, 'prove-first')
    return {
      held: true,
      note: `${peer.name} follows ${first.name}, and both have the same Merkle root`,
      measured: {
        'join until the secondary follows': seconds(joined),
        'new role until equal Merkle roots': seconds(replicated),
      },
    }
  },
  switch: async pair => {
    const { first, peer, logIn, losePeer } = pair
    const planned = await reach(
      pair,
      { from: first, to: peer },
      { kind: 'switch', allowedActions: ['promote', 'follow'] },
    )
    await logIn(peer)
    await replicateRole(pair, peer, 'prove-peer')
    await losePeer()
    const forced = await reach(
      pair,
      { from: peer, to: first },
      { kind: 'takeOver', allowedActions: ['force'] },
      'promote',
    )
    await logIn(first)
    // the role reached the first cluster before the loss of the peer
    await request(pair, first, 'auth/cloud/role/prove-peer')
    return {
      held: planned <= CLAIMED_MS.planned && forced <= CLAIMED_MS.forced,
      note: `a planned switch took ${seconds(planned)}, a forced promotion ${seconds(forced)}, and both primaries served logins`,
      measured: { 'planned switch': seconds(planned), 'forced promotion': seconds(forced) },
    }
  },
}
