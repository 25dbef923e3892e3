import { faultyParts } from '../model/fault.ts'
import {
  aFlag,
  always,
  anInt,
  aText,
  aTime,
  manyOf,
  object,
  oneOf,
  saying,
  texts,
  timeOrEmpty,
  titled,
  type ValueOf,
  words,
} from '../values/shape.ts'

const NUMBER = saying(aText, 'a number as text')
const ID = { id: aText, name: aText, step: aText }

export const rootShapes = {
  merkle_root: aText,
  merkle_root_at: saying(anInt, 'the position that the root describes'),
  merkle_root_time: saying(timeOrEmpty, 'when the root was computed'),
}
const tree = {
  cluster_id: aText,
  ...rootShapes,
  corrupted_merkle_tree: aFlag,
  last_corruption_check_epoch: saying(aText, 'epoch seconds as text'),
  last_reindex_epoch: saying(aText, 'epoch seconds as text'),
  ssct_generation_counter: anInt,
}
const building = {
  reindex_in_progress: aFlag,
  reindex_stage: words('scanning', 'building', 'commit'),
  reindex_building_progress: anInt,
  reindex_building_total: anInt,
}
const underWay = {
  operation: titled('RoleOperation', object({ ...ID, since: aTime, waits_until: timeOrEmpty, error: aText })),
  last_error: titled('LastError', object({ text: aText, time: aTime }, { operation: object(ID) })),
  recent_faults: manyOf(
    titled(
      'RecentFault',
      object({
        part: words(...faultyParts),
        ongoing: aFlag,
        text: aText,
        since: aTime,
        last: aTime,
        ended: timeOrEmpty,
      }),
    ),
  ),
}

const heartbeat = {
  last_heartbeat: aTime,
  last_heartbeat_duration_ms: NUMBER,
  clock_skew_ms: NUMBER,
  replication_primary_canary_age_ms: NUMBER,
}
const connection = { connection_status: words('connected', 'disconnected') }
const addresses = { api_address: aText, cluster_address: aText }

const term = object(
  {
    id: aText,
    number: anInt,
    since: aTime,
    given_to: manyOf(object({ cluster_id: aText, name: aText, revoked: aFlag })),
    acknowledged_by: texts,
    unacknowledged_by: texts,
  },
  { tokens_until: aTime },
)

const disabledStatus = titled('DisabledStatus', object({ mode: always('disabled') }, underWay))

const primaryStatus = titled(
  'PrimaryStatus',
  object(
    {
      mode: always('primary'),
      ...tree,
      state: words('running', 'idle'),
      primary_cluster_addr: aText,
      known_secondaries: texts,
      last_wal: anInt,
      last_dr_wal: anInt,
      secondaries: manyOf(
        titled(
          'KnownSecondary',
          object({ node_id: aText, ...connection }, { ...addresses, ...heartbeat, expired: aFlag }),
        ),
      ),
    },
    {
      ...building,
      ...underWay,
      terms: manyOf(titled('TermOfPrimary', term)),
      not_shown: object({ secondaries: anInt, terms: anInt, clusters: anInt }),
      fences: manyOf(object({ cluster_address: aText, result: aText, text: aText, since: aTime })),
    },
  ),
)

const secondaryStatus = titled(
  'SecondaryStatus',
  object(
    {
      mode: words('secondary', 'bootstrapping'),
      ...tree,
      state: words('idle', 'stream-wals', 'merkle-diff', 'merkle-sync'),
      connection_state: words('idle', 'connecting', 'ready', 'transient_failure'),
      secondary_id: aText,
      primary_cluster_addr: aText,
      known_primary_cluster_addrs: texts,
      last_remote_wal: anInt,
      last_start: timeOrEmpty,
      primaries: manyOf(
        titled(
          'KnownPrimary',
          object(
            { ...addresses, ...connection },
            { ...heartbeat, last_position: anInt, last_position_time: aTime },
          ),
        ),
      ),
    },
    {
      ...building,
      ...underWay,
      activation_error: aText,
      readiness: object({ ready: aFlag, refused_by: texts, tried: aTime }),
      diverging_items: texts,
      merkle_sync_progress: object({ sync_progress: anInt, sync_total_keys: anInt }),
    },
  ),
)

export const statusShape = oneOf(disabledStatus, primaryStatus, secondaryStatus)

/** The `data` of a status answer as this version sends it, by mode. */
export type PrimaryStatus = ValueOf<typeof primaryStatus>
export type SecondaryStatus = ValueOf<typeof secondaryStatus>
type DisabledStatus = ValueOf<typeof disabledStatus>
export type DrStatus = DisabledStatus | PrimaryStatus | SecondaryStatus
/** Fields that a status of any mode may have. */
export type UnderWay = Omit<DisabledStatus, 'mode'>
