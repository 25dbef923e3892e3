import { type Aws, type Host, type HostOptions, startHost } from '../host/host.ts'
import type { SetKeys } from '../host/initialise.ts'
import { askHost, askReplication, until } from './dr-client.ts'
import { type NextStep, nextOfPair } from './joining.ts'
import { type Stand, standOf } from './stand.ts'
import { tokenByShares } from './token-by-shares.ts'
import { counted, waiting } from './waiting.ts'

/** A cluster of a pair, in this process or another. */
export type PairMember = Omit<Host, 'runtimeOf' | 'close' | 'directory'>

/** Two clusters of one DR set on this machine. */
export interface ClusterPair<M extends PairMember = PairMember> {
  /** the primary at first */
  east: M
  /** its secondary at first */
  west: M
  close(): Promise<void>
}

/** Where a pair has come to: undefined where nobody serves. */
export interface Joined {
  primary: PairMember
  secondary: PairMember
}

export const REGIONS = { east: 'us-east-1', west: 'us-west-2' }

/** Seconds for which nobody may write before the secondary's own data are deleted. */
const WIPE_WAIT_SECONDS = 30

export type PairOptions = Omit<HostOptions, 'cluster' | 'region' | 'provider'>

/** Starts both clusters in this process, beside one imitated AWS: for rehearsals, which keep nothing. */
export async function startPair(options: PairOptions): Promise<ClusterPair<Host>> {
  const { port } = options
  // pages ask each other's cluster where it is known before it starts
  const at = (one: number) =>
    port === 0 ? {} : { port: one, peer: `http://127.0.0.1:${2 * port + 1 - one}` }
  const east = await startHost({ ...options, ...at(port), cluster: 'east', region: REGIONS.east })
  try {
    const { provider_url: url, control_token: controlToken, control } = east
    const shared: Aws = { url, controlToken, control, close: async () => undefined }
    const west = await startHost({
      ...options,
      ...at(port + 1),
      cluster: 'west',
      region: REGIONS.west,
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

/** How the first secondary reaches its primary: `address`, `ca_file`. */
type Reached = { address?: string; ca_file?: string }

/**
 * Has one of both follow the other, whatever they were before. Roles stay as they are: nobody is promoted here. What goes on
 * by itself is waited for.
 * @param say told what takes long, why, and how long still
 * @returns undefined where it is for operators to say who serves
 */
export async function join(
  pair: Pick<ClusterPair, 'east' | 'west'>,
  say: Say,
  reached: Reached = {},
): Promise<Joined | undefined> {
  for (;;) {
    const next = await nextOf(pair, say)
    if (next.do === 'leave') {
      say(next.why)
      return undefined
    }
    if (next.do === 'nothing') return agreed(pair[next.primary], pair[next.secondary])
    if (next.do === 'enable') {
      const { address = pair.east.link_address } = reached
      await askReplication(pair[next.primary], 'primary/enable', { primary_cluster_addr: address })
    }
    if (next.do === 'admit') await admit(pair[next.primary], pair[next.secondary], say, reached)
    if (next.do === 'follow') await follow(pair[next.primary], pair[next.secondary], say, reached)
  }
}

/** What is to be done next; as long as something goes on by itself, that is waited for. */
async function nextOf(
  { east, west }: Pick<ClusterPair, 'east' | 'west'>,
  say: Say,
): Promise<Exclude<NextStep, { do: 'wait' }>> {
  const look = async () => nextOfPair({ east: await standOf(east), west: await standOf(west) })
  let next = await look()
  while (next.do === 'wait') {
    const { what, seconds, otherwise } = next
    const isOver = await waiting({ what, seconds, say }, async () => {
      next = await look()
      return next.do !== 'wait' || next.what !== what
    })
    if (!isOver) return otherwise
  }
  return next
}

async function admit(
  primary: PairMember,
  secondary: PairMember,
  say: Say,
  { address: _, ...trusted }: Reached,
): Promise<void> {
  const id = secondary.cluster
  say(
    `Making ${id} a secondary takes ${WIPE_WAIT_SECONDS} s: whoever still writes there by what it read before has to have ended before its data are deleted.`,
  )
  // an earlier attempt that was broken off may have taken the name
  const { wrap_info: wrapped } = await askReplication(primary, 'primary/secondary-token', {
    id,
    replace: true,
  })
  const what = `${id} becomes a secondary`
  await counted({ what, seconds: WIPE_WAIT_SECONDS + 15, say }, async () => {
    await askReplication(secondary, 'secondary/enable', { token: wrapped?.token, ...trusted })
    await until(
      `${id} does not follow ${primary.cluster}`,
      async () => (await standOf(secondary)).state === 'stream-wals',
    )
  })
}

/** A cluster that has all data of the set follows its primary: nothing is wiped. */
async function follow(
  primary: PairMember,
  secondary: PairMember,
  say: Say,
  { address = primary.link_address }: Reached,
): Promise<void> {
  await agreed(primary, secondary)
  const told = (await standOf(primary)).address
  // it has moved since it told others where it is
  if (told !== '' && told !== address)
    await askReplication(primary, 'primary/enable', { primary_cluster_addr: address })
  const id = secondary.cluster
  const what = `${id} follows ${primary.cluster}`
  await counted({ what, seconds: 20, say }, async () => {
    const operation = await tokenByShares(secondary)
    // under the name that it had before, another of its keys may be known
    const { wrap_info: wrapped } = await askReplication(primary, 'primary/secondary-token', {
      id,
      replace: true,
    })
    const body = { dr_operation_token: operation, token: wrapped?.token }
    await askReplication(secondary, 'secondary/update-primary', body)
    await until(
      `${id} does not follow ${primary.cluster}`,
      async () => (await standOf(secondary)).connection === 'ready',
    )
    await askReplication(secondary, 'secondary/operation-token/delete', { dr_operation_token: operation })
  })
}

/**
 * Has both name the keys of their set: the root token that the primary accepts, wherever it is written down, and the shares
 * that either has seen. Where the primary accepts neither token, all stay as they are.
 */
async function agreed(primary: PairMember, secondary: PairMember): Promise<Joined> {
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
  askHost(primary, 'auth/token/lookup-self', undefined, root_token).then(
    () => true,
    () => false,
  )

/** Waits until both stand at one position with one root. @throws Error when they do not come to that */
export async function settled<Of extends Readonly<Record<string, Pick<Host, 'base_url'>>>>(
  clusters: Of,
): Promise<{ [Name in keyof Of]: Stand }> {
  let stands: [string, Stand][] = []
  const names = Object.keys(clusters)
  await until(`${names.join(' and ')} do not come to one position and one root`, async () => {
    stands = await Promise.all(
      Object.entries(clusters).map(
        async ([name, host]): Promise<[string, Stand]> => [name, await standOf(host)],
      ),
    )
    const [one, other] = stands.map(([, stand]) => stand)
    return one !== undefined && one.root !== '' && one.root === other?.root && one.position === other.position
  })
  return Object.fromEntries(stands) as { [Name in keyof Of]: Stand }
}
