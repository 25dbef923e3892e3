import { faultyParts } from '../model/fault.ts'
import {
  aFlag,
  anInt,
  aText,
  aTime,
  constOf,
  enumOf,
  manyOf,
  object,
  oneOf,
  texts,
  timeOrEmpty,
  type ValueOf,
  withDescription,
  withTitle,
} from '../values/shape.ts'

const NUMBER = withDescription(aText, 'a number as text')
const ID = { id: aText, name: aText, step: aText }

export const rootShapes = {
  merkle_root: aText,
  merkle_root_at: withDescription(anInt, 'the position that the root describes'),
  merkle_root_time: withDescription(timeOrEmpty, 'when the root was computed'),
}
const tree = {
  cluster_id: aText,
  ...rootShapes,
  corrupted_merkle_tree: aFlag,
  last_corruption_check_epoch: withDescription(aText, 'epoch seconds as text'),
  last_reindex_epoch: withDescription(aText, 'epoch seconds as text'),
  ssct_generation_counter: anInt,
}
const building = {
  reindex_in_progress: aFlag,
  reindex_stage: enumOf('scanning', 'building', 'commit'),
  reindex_building_progress: anInt,
  reindex_building_total: anInt,
}
const underWay = {
  operation: withTitle(
    'RoleOperation',
    object({ ...ID, since: aTime, waits_until: timeOrEmpty, error: aText }),
  ),
  last_error: withTitle('LastError', object({ text: aText, time: aTime }, { operation: object(ID) })),
  recent_faults: manyOf(
    withTitle(
      'RecentFault',
      object({
        part: enumOf(...faultyParts),
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
const connection = { connection_status: enumOf('connected', 'disconnected') }
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

const disabledStatus = withTitle('DisabledStatus', object({ mode: constOf('disabled') }, underWay))

const primaryStatus = withTitle(
  'PrimaryStatus',
  object(
    {
      mode: constOf('primary'),
      ...tree,
      state: enumOf('running', 'idle'),
      primary_cluster_addr: aText,
      known_secondaries: texts,
      last_wal: anInt,
      last_dr_wal: anInt,
      secondaries: manyOf(
        withTitle(
          'KnownSecondary',
          object({ node_id: aText, ...connection }, { ...addresses, ...heartbeat, expired: aFlag }),
        ),
      ),
    },
    {
      ...building,
      ...underWay,
      terms: manyOf(withTitle('TermOfPrimary', term)),
      not_shown: object({ secondaries: anInt, terms: anInt, clusters: anInt }),
      fences: manyOf(object({ cluster_address: aText, result: aText, text: aText, since: aTime })),
    },
  ),
)

const secondaryStatus = withTitle(
  'SecondaryStatus',
  object(
    {
      mode: enumOf('secondary', 'bootstrapping'),
      ...tree,
      state: enumOf('idle', 'stream-wals', 'merkle-diff', 'merkle-sync'),
      connection_state: enumOf('idle', 'connecting', 'ready', 'transient_failure'),
      secondary_id: aText,
      primary_cluster_addr: aText,
      known_primary_cluster_addrs: texts,
      last_remote_wal: anInt,
      last_start: timeOrEmpty,
      primaries: manyOf(
        withTitle(
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
