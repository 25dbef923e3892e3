/** What a cluster says of itself in `sys/health` and `sys/replication/dr/status`, as far as the page shows it. */
export interface Said {
  /** empty: it has not told */
  name: string
  /** status code of health */
  health: number
  initialized: boolean
  version: string
  /** id of the set; empty: none */
  set: string
  mode: string
  state: string
  connection: string
  /** the name under which a secondary was admitted */
  memberName: string
  /** of a primary: the last position that was given to a commit, and up to where none is missing */
  given: number
  frontier: number
  /** of a secondary: up to where it has everything */
  received: number
  root: string
  corrupted: boolean
  diverging: readonly string[]
  primary?: KnownCluster
  secondaries: readonly KnownCluster[]
  operation?: ShownOperation
  lastError?: { text: string; time: string; operation?: { name: string; step: string } }
  building?: { stage: string; done: number; total: number }
  sync?: { done: number; total: number }
  activationError: string
  /** of a secondary: whether a promotion would have gone through, as it was tried last */
  tried?: { ready: boolean; refusedBy: readonly string[]; at: number }
  fences: readonly { address: string; result: string; text: string }[]
  /** what has failed lately while it served */
  faults: readonly ShownFault[]
  /** epoch milliseconds; absent: no licence */
  licenceEnds?: number
}

/** Another cluster of the set, as this one knows it. */
export interface KnownCluster {
  /** empty: of a primary */
  name: string
  apiAddress: string
  linkAddress: string
  isConnected: boolean
  /** its token has expired unused */
  isExpired: boolean
  /** epoch milliseconds; absent: never */
  heardAt?: number
  /** milliseconds */
  canaryAge?: number
  skew: number
  /** of a primary: the last position that it has told of */
  position?: number
}

/** A part of a cluster that has failed lately. */
export interface ShownFault {
  part: string
  isOngoing: boolean
  text: string
  /** as it was told: of the last failure, and of the success that ended them, if any */
  last: string
  ended: string
}

/** A change of the role, or work on the tree, that is under way. */
export interface ShownOperation {
  id: string
  name: string
  /** the next step */
  step: string
  /** epoch milliseconds */
  since?: number
  /** why it waits, or what went wrong where it goes on; empty: nothing */
  error: string
}

type Json = Readonly<Record<string, unknown>>

/** A JSON object; of anything else an empty one. */
export const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const saidText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
export const numberOf = (value: unknown): number =>
  saidText(value) !== '' && Number.isFinite(Number(value)) ? Number(value) : 0
/** Epoch milliseconds; undefined: none, or unreadable. */
const timeOf = (value: unknown): number | undefined => {
  const time = Date.parse(saidText(value))
  return Number.isNaN(time) ? undefined : time
}
const textsOf = (value: unknown): string[] => listIn(value).map(saidText)
const optional = <N extends string, T>(name: N, value: T | undefined): { [K in N]?: T } =>
  value === undefined ? {} : ({ [name]: value } as { [K in N]?: T })
const someNumber = (value: unknown): number | undefined =>
  saidText(value) === '' ? undefined : numberOf(value)

/**
 * Reads both answers. Whatever is missing or of another form is left out: the page shows what it understands.
 * @param health status and body of GET sys/health
 * @param status `data` of GET sys/replication/dr/status
 */
export function saidOf(health: { status: number; body: unknown }, status: unknown): Said {
  const own = objectOf(health.body)
  const dr = objectOf(status)
  return {
    name: saidText(own['cluster_name']),
    health: health.status,
    initialized: own['initialized'] === true,
    version: saidText(own['product_version']),
    set: saidText(dr['cluster_id']),
    mode: saidText(dr['mode']),
    state: saidText(dr['state']),
    connection: saidText(dr['connection_state']),
    memberName: saidText(dr['secondary_id']),
    given: numberOf(dr['last_wal']),
    frontier: numberOf(dr['last_dr_wal']),
    received: numberOf(dr['last_remote_wal']),
    root: saidText(dr['merkle_root']),
    corrupted: dr['corrupted_merkle_tree'] === true,
    diverging: textsOf(dr['diverging_items']),
    secondaries: listIn(dr['secondaries']).map(peerOf),
    activationError: saidText(dr['activation_error']),
    fences: listIn(dr['fences']).map(objectOf).map(fenceOf),
    faults: listIn(dr['recent_faults']).map(objectOf).map(faultOf),
    ...optional('primary', listIn(dr['primaries']).map(peerOf)[0]),
    ...optional('licenceEnds', timeOf(objectOf(own['license'])['expiry_time'])),
    ...workOf(dr),
  }
}

/** What goes on, and what went wrong last. */
const workOf = (dr: Json) => ({
  ...optional(
    'operation',
    dr['operation'] === undefined ? undefined : operationOf(objectOf(dr['operation'])),
  ),
  ...optional('lastError', dr['last_error'] === undefined ? undefined : errorOf(objectOf(dr['last_error']))),
  ...optional('building', dr['reindex_in_progress'] === true ? buildingOf(dr) : undefined),
  ...optional('sync', syncOf(dr['merkle_sync_progress'])),
  ...optional('tried', triedOf(objectOf(dr['readiness']))),
})

const fenceOf = (one: Json) => ({
  address: saidText(one['cluster_address']),
  result: saidText(one['result']),
  text: saidText(one['text']),
})

const faultOf = (one: Json): ShownFault => ({
  part: saidText(one['part']),
  isOngoing: one['ongoing'] === true,
  text: saidText(one['text']),
  last: saidText(one['last']),
  ended: saidText(one['ended']),
})

function peerOf(value: unknown): KnownCluster {
  const peer = objectOf(value)
  return {
    name: saidText(peer['node_id']),
    apiAddress: saidText(peer['api_address']),
    linkAddress: saidText(peer['cluster_address']),
    isConnected: peer['connection_status'] === 'connected',
    isExpired: peer['expired'] === true,
    skew: numberOf(peer['clock_skew_ms']),
    ...optional('heardAt', timeOf(peer['last_heartbeat'])),
    ...optional('canaryAge', someNumber(peer['replication_primary_canary_age_ms'])),
    ...optional('position', someNumber(peer['last_position'])),
  }
}

const operationOf = (one: Json): ShownOperation => ({
  id: saidText(one['id']),
  name: saidText(one['name']),
  step: saidText(one['step']),
  error: saidText(one['error']),
  ...optional('since', timeOf(one['since'])),
})

function errorOf(one: Json) {
  const { name, step } = objectOf(one['operation'])
  return {
    text: saidText(one['text']),
    time: saidText(one['time']),
    ...(name === undefined ? {} : { operation: { name: saidText(name), step: saidText(step) } }),
  }
}

const buildingOf = (dr: Json) => ({
  stage: saidText(dr['reindex_stage']),
  done: numberOf(dr['reindex_building_progress']),
  total: numberOf(dr['reindex_building_total']),
})

function syncOf(value: unknown): { done: number; total: number } | undefined {
  if (value === undefined) return undefined
  const { sync_progress, sync_total_keys } = objectOf(value)
  return { done: numberOf(sync_progress), total: numberOf(sync_total_keys) }
}

function triedOf(one: Json): Said['tried'] {
  const at = timeOf(one['tried'])
  return at === undefined
    ? undefined
    : { ready: one['ready'] === true, refusedBy: textsOf(one['refused_by']), at }
}
