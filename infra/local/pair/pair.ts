import type { SetGoal } from '../../../shared/set/plan.ts'
import { RunStopped, runUntilGoal, type SetCluster } from '../../../shared/set/run.ts'
import type { ClusterStatus } from '../../../shared/set/status.ts'
import { systemSetClock } from '../../command/set/look.ts'
import {
  type ImitatedAwsConnection,
  type LocalHost,
  type LocalHostOptions,
  startLocalHost,
} from '../host/host.ts'
import type { SetKeys } from '../host/initialise.ts'
import { readDrStatus, requestHost, requestReplication, toSetCluster, waitUntilTrue } from './dr-client.ts'
import { generateTokenByShares } from './token-by-shares.ts'
import { createCountdown } from './waiting.ts'

/** A cluster of a pair, in this process or another process. */
export type PairMember = Omit<LocalHost, 'runtimeOf' | 'close' | 'directory'>

/** Two clusters of one DR set on this machine. */
export interface ClusterPair<M extends PairMember = PairMember> {
  /** the primary at first */
  east: M
  /** the secondary at first */
  west: M
  close(): Promise<void>
}

/** The roles of the two clusters, or undefined if no cluster serves. */
export interface PairRoles {
  primary: PairMember
  secondary: PairMember
}

export const PAIR_REGIONS = { east: 'us-east-1', west: 'us-west-2' }

/** Seconds without writes before the secondary deletes its own data. */
const WIPE_WAIT_SECONDS = 30

export type PairOptions = Omit<LocalHostOptions, 'cluster' | 'region' | 'provider'>

/** Starts both clusters in this process with one imitated AWS and without stored state, for rehearsals. */
export async function startClusterPair(options: PairOptions): Promise<ClusterPair<LocalHost>> {
  const { port } = options
  // each console page reads the other cluster, if the other cluster's address is known before it starts
  const at = (one: number) =>
    port === 0 ? {} : { port: one, peer: `http://127.0.0.1:${2 * port + 1 - one}` }
  const east = await startLocalHost({ ...options, ...at(port), cluster: 'east', region: PAIR_REGIONS.east })
  try {
    const { provider_url: url, control_token: controlToken, control } = east
    const shared: ImitatedAwsConnection = { url, controlToken, control, close: async () => undefined }
    const west = await startLocalHost({
      ...options,
      ...at(port + 1),
      cluster: 'west',
      region: PAIR_REGIONS.west,
      provider: async () => shared,
    })
    const close = async () => {
      await west.close()
      await east.close()
    }
    return { east, west, close }
  } catch (error) {
    await east.close()
    throw error
  }
}

type Say = (text: string) => void

/** Address and CA file by which the first secondary reaches its primary. */
type Reached = { address?: string; ca_file?: string }

/** Time limits for clusters on one machine with a user who waits. */
const localWaits: SetGoal['waits'] = {
  silence: 30_000,
  obstacle: 30_000,
  operation: 30_000,
  closing: 70_000,
  journal: 60_000,
  activation: 90_000,
  contact: 40_000,
  'catching-up': 90_000,
}
const goal: SetGoal = {
  kind: 'join',
  allowedActions: ['enable', 'admit', 'follow', 'readmit'],
  waits: localWaits,
}
const FOLLOW_SECONDS = 20

/**
 * Makes one cluster follow the other, whatever their earlier state. Promotes no cluster, and waits for
 * operations that complete on their own.
 * @param say receives progress messages with the remaining time
 * @returns undefined if an operator must decide which cluster serves
 */
export async function joinLocalPair(
  { east, west }: Pick<ClusterPair, 'east' | 'west'>,
  say: Say,
  { address, ...trust }: Reached = {},
): Promise<PairRoles | undefined> {
  const hosts = { from: east, to: west }
  const countdown = createCountdown(say)
  const clusterOf = (host: PairMember): SetCluster => ({
    ...toSetCluster(host, host.root_token, say),
    address: address ?? host.link_address,
  })
  let operation = ''
  try {
    await runUntilGoal({
      goal,
      clusters: { from: clusterOf(east), to: clusterOf(west) },
      clock: systemSetClock,
      operationToken: async side => {
        operation = await generateTokenByShares(hosts[side])
        return operation
      },
      trust,
      onStep: step => {
        if (step.do === 'wait') countdown(step.what, localWaits[step.for] / 1000)
      },
      beforeStep: async step => {
        if (step.do === 'promote' || step.do === 'enable') return
        const [primary, secondary] = [hosts[step.primary], hosts[step.secondary]]
        const { cluster: id } = secondary
        if (step.do === 'admit') {
          say(
            `Making ${id} a secondary takes ${WIPE_WAIT_SECONDS} s, because running writes must end before its data is deleted.`,
          )
          return countdown(`${id} becomes a secondary`, WIPE_WAIT_SECONDS + 15)
        }
        await shareKeys(primary, secondary)
        countdown(`${id} follows ${primary.cluster}`, FOLLOW_SECONDS)
      },
      afterStep: async step => {
        if (operation === '' || (step.do !== 'follow' && step.do !== 'readmit')) return
        const body = { dr_operation_token: operation }
        operation = ''
        await requestReplication(hosts[step.secondary], 'secondary/operation-token/delete', body)
      },
    })
  } catch (error) {
    if (!(error instanceof RunStopped)) throw error
    if (error.exit === 'unreachable') throw new Error(error.message)
    say(`${error.message} Promote the cluster that should serve (below), then start the pair again.`)
    return undefined
  } finally {
    countdown()
  }
  const { mode } = await readDrStatus(east)
  return mode === 'primary' ? shareKeys(east, west) : shareKeys(west, east)
}

/**
 * Makes both clusters report the keys of their set: the root token that the primary accepts, and the shares that
 * either host has seen. If the primary accepts neither root token, nothing changes.
 */
async function shareKeys(primary: PairMember, secondary: PairMember): Promise<PairRoles> {
  const [own, other] = [await holds(primary, primary), await holds(primary, secondary)]
  const holder = own ? primary : secondary
  if (own) await secondary.adoptKeys(keysOf(other ? secondary : primary, primary))
  if (other) await primary.adoptKeys(keysOf(holder, secondary))
  return { primary, secondary }
}

const keysOf = ({ root_token }: SetKeys, { recovery_keys }: SetKeys): SetKeys => ({
  root_token,
  recovery_keys,
})

const holds = (primary: PairMember, { root_token }: PairMember): Promise<boolean> =>
  requestHost(primary, 'auth/token/lookup-self', undefined, root_token).then(
    () => true,
    () => false,
  )

/**
 * Waits until both clusters have the same position and root. @throws Error if they do not reach the same
 * position and root in time
 */
export async function waitUntilPairSettled<Of extends Readonly<Record<string, Pick<LocalHost, 'base_url'>>>>(
  clusters: Of,
): Promise<{ [Name in keyof Of]: ClusterStatus }> {
  let seen: [string, ClusterStatus][] = []
  const names = Object.keys(clusters)
  await waitUntilTrue(`${names.join(' and ')} do not reach the same position and root`, async () => {
    seen = await Promise.all(
      Object.entries(clusters).map(
        async ([name, host]): Promise<[string, ClusterStatus]> => [name, await readDrStatus(host)],
      ),
    )
    const [one, other] = seen.map(([, status]) => status)
    return one !== undefined && one.root !== '' && one.root === other?.root && one.position === other.position
  })
  return Object.fromEntries(seen) as { [Name in keyof Of]: ClusterStatus }
}
