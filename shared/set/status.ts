import { defined } from '../values/defined.ts'
import { isObject } from '../values/json.ts'
import { readShape, type ShapeRead } from '../values/read-shape.ts'
import { failed, ok, type Result } from '../values/result.ts'
import { flagShape, type JsonSchema, objectShape, textShape } from '../values/shape.ts'
import { drStatusShape, type PrimaryStatus, type SecondaryStatus } from './schema.ts'

type Differing = 'mode' | 'state'
/** The status fields of all modes. */
type Fields = Partial<
  Omit<PrimaryStatus, Differing> &
    Omit<SecondaryStatus, Differing> & { state: PrimaryStatus['state'] | SecondaryStatus['state'] }
>

/** Returns a time in epoch milliseconds. Returns undefined if the text is not a time. */
const timeOf = (text: string | undefined): number | undefined => {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : time
}
const numberOf = (text: string | undefined): number | undefined =>
  text === undefined || text === '' || Number.isNaN(Number(text)) ? undefined : Number(text)

type Peer = PrimaryStatus['secondaries'][number] & Partial<SecondaryStatus['primaries'][number]>

const peerOf = (peer: Partial<Peer>) => ({
  /** empty for a primary */
  name: peer.node_id ?? '',
  apiAddress: peer.api_address ?? '',
  linkAddress: peer.cluster_address ?? '',
  isConnected: peer.connection_status === 'connected',
  /** `isExpired`: the secondary's token expired unused */
  isExpired: peer.expired === true,
  lastHeartbeat: peer.last_heartbeat ?? '',
  /** epoch milliseconds */
  lastHeartbeatAt: timeOf(peer.last_heartbeat),
  canaryAge_ms: numberOf(peer.replication_primary_canary_age_ms),
  skew_ms: numberOf(peer.clock_skew_ms) ?? 0,
  /** `position`: for a primary, the last position that this secondary reported */
  position: peer.last_position,
})

/** Another cluster of the set, as the answering cluster knows it. */
export type KnownCluster = ReturnType<typeof peerOf>

/** Converts a status answer to the terms of this code. `odd` names fields that were left out. */
const viewOf = (mode: string, { fields, odd }: ShapeRead<Fields>) => {
  const isSecondary = mode === 'secondary'
  const { readiness, operation, last_error, merkle_sync_progress: sync } = fields
  const primaries = (fields.primaries ?? []).map(peerOf)
  const addresses = fields.known_primary_cluster_addrs ?? []
  return {
    mode,
    odd,
    state: String(fields.state ?? ''),
    /** `set`: id of the set; empty: no set */
    set: fields.cluster_id ?? '',
    /** number of promotions in the set, as far as this cluster knows */
    promotions: fields.ssct_generation_counter ?? 0,
    connection: String(fields.connection_state ?? ''),
    /** name under which a secondary was admitted */
    memberName: fields.secondary_id ?? '',
    /** for a primary, the last position allocated to a commit */
    last: fields.last_wal ?? 0,
    /** `position` up to which a primary has sent every entry, or a secondary has received every entry */
    position: isSecondary ? fields.last_remote_wal : fields.last_dr_wal,
    root: fields.merkle_root ?? '',
    isCorrupted: fields.corrupted_merkle_tree === true,
    /** `address`: for a primary, its address for secondaries; for a secondary, the address in its activation token */
    address: fields.primary_cluster_addr ?? '',
    /** for a primary, names of its secondaries; truncated if `isKnownCut` */
    known: fields.known_secondaries ?? [],
    isKnownCut: (fields.not_shown?.secondaries ?? 0) > 0,
    secondaries: (fields.secondaries ?? []).map(peerOf),
    primary: primaries[0],
    /**
     * `hasPrimary`, `primaryAddress`: whether a secondary has a primary, and that primary's address; empty: the
     * status has none
     */
    hasPrimary: addresses.length > 0 || primaries.length > 0,
    primaryAddress: addresses[0] ?? '',
    diverging: fields.diverging_items ?? [],
    operation,
    lastError: last_error,
    faults: fields.recent_faults ?? [],
    fences: fields.fences ?? [],
    activationError: fields.activation_error ?? '',
    /** for a secondary, when its connection began, in epoch milliseconds */
    connectedAt: timeOf(fields.last_start),
    /** since when the cluster has its mode, in epoch milliseconds */
    roleSince: timeOf(fields.role_since),
    /** region that the cluster runs in; empty: the answer has no region */
    region: fields.region ?? '',
    /** for a secondary, the result of its last promotion check */
    readiness: readiness && { ...readiness, at: timeOf(readiness.tried) },
    isBuilding: fields.reindex_in_progress === true,
    building: {
      stage: String(fields.reindex_stage ?? ''),
      done: fields.reindex_building_progress ?? 0,
      total: fields.reindex_building_total ?? 0,
    },
    sync: sync && { done: sync.sync_progress, total: sync.sync_total_keys },
  }
}

/** A cluster's own status, in the terms of this code. */
export type ClusterStatus = ReturnType<typeof viewOf>
export type RunningOperation = NonNullable<ClusterStatus['operation']>

type ModeSchema = JsonSchema & { properties: { mode: { const?: string; enum?: readonly string[] } } }
const modes = drStatusShape['anyOf'] as readonly ModeSchema[]

/**
 * Reads the `data` of a status answer. The function leaves out missing, unknown and malformed fields, and names
 * them in `odd`. Only `mode` is required, because clusters of two versions meet during every upgrade.
 */
export function parseDrStatus(data: unknown): Result<ClusterStatus, string> {
  if (!isObject(data)) return failed('the answer is not a status')
  const { mode } = data
  if (typeof mode !== 'string') return failed('the answer is not a status: mode is not a text')
  const schema = modes.find(({ properties: { mode: one } }) => one.const === mode || one.enum?.includes(mode))
  return ok(viewOf(mode, schema ? readShape<Fields>(schema, data) : { fields: {}, odd: ['mode is unknown'] }))
}

/** An answer of a cluster's API. `refused`: the status code and reason of a failure; empty for a success. */
export interface ClusterReply {
  status: number
  body: unknown
  refused: string
}

const healthShape = objectShape({
  initialized: flagShape,
  cluster_name: textShape,
  product_version: textShape,
  license: objectShape({ expiry_time: textShape }),
})

/** Returns the `data` of an answer's body. Empty: the body has no `data`. */
export const dataOf = (body: unknown): Readonly<Record<string, unknown>> =>
  isObject(body) && isObject(body['data']) ? body['data'] : {}

/** @param at epoch milliseconds, by the clock of the asking program */
const wordOf = (at: number, { status: health, body }: ClusterReply, status: ClusterStatus) => {
  const { initialized, cluster_name, product_version, license } = readShape(healthShape, body).fields
  return {
    at,
    /** `health`: status code of `sys/health`; 200: the cluster serves */
    health,
    isInitialised: health !== 501 && initialized !== false,
    /** `cluster`: the cluster's own name; empty: the answer has no name */
    cluster: cluster_name ?? '',
    version: product_version ?? '',
    /** epoch milliseconds; undefined: no licence */
    licenceEnds: timeOf(license?.expiry_time),
    status,
  }
}

/** A cluster's answer: its health and its status. */
export type ClusterAnswer = ReturnType<typeof wordOf>

/** A cluster with its last answer and, if it does not answer now, the reason. */
export interface ObservedCluster {
  /** name that the program uses for the cluster */
  name: string
  answer?: ClusterAnswer
  /**
   * `silent` is absent if the cluster has just answered. `part`: the cluster answered one of two requests. `oddly`:
   * the cluster's answer was malformed.
   */
  silent?: { why: string; answered: 'nothing' | 'part' | 'oddly' }
}
export type AnsweringCluster = ObservedCluster & { answer: ClusterAnswer }

/**
 * Reports whether a cluster has just answered. An answer from before the cluster's silence is shown, and never
 * judged.
 */
export const hasAnswered = (seen: ObservedCluster | undefined): seen is AnsweringCluster =>
  seen?.answer !== undefined && seen.silent === undefined

/**
 * Requests the health and status of a cluster.
 * @param ask sends a GET to an API path. @throws Error if no answer comes
 * @param before the cluster as observed earlier; its answer is kept if the cluster is silent now
 */
export async function observeCluster(
  { name, answer }: ObservedCluster,
  ask: (path: string) => Promise<ClusterReply>,
  now: () => number,
): Promise<ObservedCluster> {
  const silent = (why: string, answered: 'nothing' | 'part' | 'oddly'): ObservedCluster => ({
    name,
    ...defined({ answer }),
    silent: { why, answered },
  })
  const [health, status] = await Promise.allSettled([ask('sys/health'), ask(STATUS)])
  if (health.status === 'rejected' || status.status === 'rejected') {
    const { reason } = (health.status === 'rejected' ? health : status) as PromiseRejectedResult
    const isPart = health.status === 'fulfilled' || status.status === 'fulfilled'
    return silent(reason instanceof Error ? reason.message : String(reason), isPart ? 'part' : 'nothing')
  }
  const { body, refused } = status.value
  const read = refused === '' ? parseDrStatus(dataOf(body)) : failed(refused)
  return read.ok
    ? { name, answer: wordOf(now(), health.value, read.value) }
    : silent(`${STATUS}: ${read.fault}`, 'oddly')
}

const STATUS = 'sys/replication/dr/status'
