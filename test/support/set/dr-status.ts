import * as v from 'valibot'

/**
 * The schema of the replication status in clients: the structs of the Go library, which accepts no number as
 * text and no text as number, and our additions. No client would read a field that is missing here.
 */
const wal = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const seconds = v.pipe(v.string(), v.regex(/^-?\d+$/))
const milliseconds = seconds
const time = v.pipe(v.string(), v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/))
const root = v.pipe(v.string(), v.regex(/^([0-9a-f]{40})?$/))

const peer = v.strictObject({
  node_id: v.optional(v.string()),
  api_address: v.optional(v.string()),
  cluster_address: v.optional(v.string()),
  connection_status: v.picklist(['connected', 'disconnected']),
  last_heartbeat: v.optional(time),
  last_heartbeat_duration_ms: v.optional(milliseconds),
  clock_skew_ms: v.optional(milliseconds),
  replication_primary_canary_age_ms: v.optional(milliseconds),
  expired: v.optional(v.literal(true)),
  last_position: v.optional(wal),
  last_position_time: v.optional(time),
})

const term = v.strictObject({
  id: v.pipe(v.string(), v.regex(/^[\w-]{22}$/)),
  number: wal,
  since: time,
  tokens_until: v.optional(time),
  given_to: v.array(
    v.strictObject({ cluster_id: v.pipe(v.string(), v.uuid()), name: v.string(), revoked: v.boolean() }),
  ),
  acknowledged_by: v.array(v.string()),
  unacknowledged_by: v.array(v.string()),
})

const fence = v.strictObject({
  cluster_address: v.string(),
  result: v.picklist(['acknowledged', 'denied', 'refused', 'silent']),
  text: v.string(),
  since: time,
})

const names = { id: v.string(), name: v.string(), step: v.string() }

/** The fields of the status about role changes and the last fault. */
const underWay = {
  operation: v.optional(
    v.strictObject({ ...names, since: time, waits_until: v.union([time, v.literal('')]), error: v.string() }),
  ),
  last_error: v.optional(
    v.strictObject({ text: v.string(), time, operation: v.optional(v.strictObject(names)) }),
  ),
  recent_faults: v.optional(
    v.array(
      v.strictObject({
        part: v.picklist(['keyring', 'logins', 'audit', 'storage']),
        ongoing: v.boolean(),
        text: v.string(),
        since: time,
        last: time,
        ended: v.union([time, v.literal('')]),
      }),
    ),
  ),
}

const common = {
  ...underWay,
  cluster_id: v.string(),
  role_since: v.optional(time),
  region: v.optional(v.string()),
  merkle_root: root,
  merkle_root_at: wal,
  merkle_root_time: v.union([time, v.literal('')]),
  corrupted_merkle_tree: v.boolean(),
  last_corruption_check_epoch: seconds,
  last_reindex_epoch: seconds,
  ssct_generation_counter: wal,
  reindex_in_progress: v.optional(v.boolean()),
  reindex_stage: v.optional(v.picklist(['scanning', 'building', 'wal-replay', 'commit'])),
  reindex_building_progress: v.optional(wal),
  reindex_building_total: v.optional(wal),
}

/** The schema of `data` of GET sys/replication/dr/status, by mode. */
export const drStatus = v.variant('mode', [
  v.strictObject({ mode: v.literal('disabled'), ...underWay }),
  v.strictObject({
    mode: v.literal('primary'),
    state: v.picklist(['running', 'idle']),
    ...common,
    primary_cluster_addr: v.string(),
    known_secondaries: v.array(v.string()),
    last_wal: wal,
    last_dr_wal: wal,
    secondaries: v.array(peer),
    terms: v.optional(v.array(term)),
    not_shown: v.optional(v.strictObject({ secondaries: wal, terms: wal, clusters: wal })),
    fences: v.optional(v.array(fence)),
  }),
  v.strictObject({
    mode: v.picklist(['secondary', 'bootstrapping']),
    state: v.picklist(['stream-wals', 'merkle-diff', 'merkle-sync', 'idle']),
    connection_state: v.picklist(['ready', 'connecting', 'transient_failure', 'idle', 'shutdown']),
    ...common,
    secondary_id: v.string(),
    primary_cluster_addr: v.string(),
    known_primary_cluster_addrs: v.array(v.string()),
    last_remote_wal: wal,
    last_start: v.union([time, v.literal('')]),
    primaries: v.array(peer),
    diverging_items: v.optional(v.array(v.string())),
    activation_error: v.optional(v.string()),
    readiness: v.optional(
      v.strictObject({ ready: v.boolean(), refused_by: v.array(v.string()), tried: time }),
    ),
    merkle_sync_progress: v.optional(v.strictObject({ sync_progress: wal, sync_total_keys: wal })),
  }),
])
