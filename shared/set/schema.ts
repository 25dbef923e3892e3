import { faultyParts } from '../model/fault.ts'
import {
  arrayShape,
  constShape,
  enumShape,
  flagShape,
  intShape,
  objectShape,
  textArrayShape,
  textShape,
  timeOrEmptyShape,
  timeShape,
  unionShape,
  type ValueOf,
  withDescription,
  withTitle,
} from '../values/shape.ts'

const NUMBER = withDescription(textShape, 'a number as text')
const ID = { id: textShape, name: textShape, step: textShape }

export const treeRootShapes = {
  merkle_root: textShape,
  merkle_root_at: withDescription(intShape, 'the position that the root describes'),
  merkle_root_time: withDescription(timeOrEmptyShape, 'when the root was computed'),
}
const tree = {
  cluster_id: textShape,
  ...treeRootShapes,
  corrupted_merkle_tree: flagShape,
  last_corruption_check_epoch: withDescription(textShape, 'epoch seconds as text'),
  last_reindex_epoch: withDescription(textShape, 'epoch seconds as text'),
  ssct_generation_counter: intShape,
}
/** Fields that clusters of earlier versions do not show. */
const place = { role_since: timeShape, region: textShape }
const building = {
  reindex_in_progress: flagShape,
  reindex_stage: enumShape('scanning', 'building', 'commit'),
  reindex_building_progress: intShape,
  reindex_building_total: intShape,
}
const underWay = {
  operation: withTitle(
    'RoleOperation',
    objectShape({ ...ID, since: timeShape, waits_until: timeOrEmptyShape, error: textShape }),
  ),
  last_error: withTitle(
    'LastError',
    objectShape({ text: textShape, time: timeShape }, { operation: objectShape(ID) }),
  ),
  recent_faults: arrayShape(
    withTitle(
      'RecentFault',
      objectShape({
        part: enumShape(...faultyParts),
        ongoing: flagShape,
        text: textShape,
        since: timeShape,
        last: timeShape,
        ended: timeOrEmptyShape,
      }),
    ),
  ),
}

const heartbeat = {
  last_heartbeat: timeShape,
  last_heartbeat_duration_ms: NUMBER,
  clock_skew_ms: NUMBER,
  replication_primary_canary_age_ms: NUMBER,
}
const connection = { connection_status: enumShape('connected', 'disconnected') }
const addresses = { api_address: textShape, cluster_address: textShape }

const term = objectShape(
  {
    id: textShape,
    number: intShape,
    since: timeShape,
    given_to: arrayShape(objectShape({ cluster_id: textShape, name: textShape, revoked: flagShape })),
    acknowledged_by: textArrayShape,
    unacknowledged_by: textArrayShape,
  },
  { tokens_until: timeShape },
)

const disabledStatus = withTitle('DisabledStatus', objectShape({ mode: constShape('disabled') }, underWay))

const primaryStatus = withTitle(
  'PrimaryStatus',
  objectShape(
    {
      mode: constShape('primary'),
      ...tree,
      state: enumShape('running', 'idle'),
      primary_cluster_addr: textShape,
      known_secondaries: textArrayShape,
      last_wal: intShape,
      last_dr_wal: intShape,
      secondaries: arrayShape(
        withTitle(
          'KnownSecondary',
          objectShape(
            { node_id: textShape, ...connection },
            { ...addresses, ...heartbeat, expired: flagShape },
          ),
        ),
      ),
    },
    {
      ...building,
      ...place,
      ...underWay,
      terms: arrayShape(withTitle('TermOfPrimary', term)),
      not_shown: objectShape({ secondaries: intShape, terms: intShape, clusters: intShape }),
      fences: arrayShape(
        objectShape({ cluster_address: textShape, result: textShape, text: textShape, since: timeShape }),
      ),
    },
  ),
)

const secondaryStatus = withTitle(
  'SecondaryStatus',
  objectShape(
    {
      mode: enumShape('secondary', 'bootstrapping'),
      ...tree,
      state: enumShape('idle', 'stream-wals', 'merkle-diff', 'merkle-sync'),
      connection_state: enumShape('idle', 'connecting', 'ready', 'transient_failure'),
      secondary_id: textShape,
      primary_cluster_addr: textShape,
      known_primary_cluster_addrs: textArrayShape,
      last_remote_wal: intShape,
      last_start: timeOrEmptyShape,
      primaries: arrayShape(
        withTitle(
          'KnownPrimary',
          objectShape(
            { ...addresses, ...connection },
            { ...heartbeat, last_position: intShape, last_position_time: timeShape },
          ),
        ),
      ),
    },
    {
      ...building,
      ...place,
      ...underWay,
      activation_error: textShape,
      readiness: objectShape({ ready: flagShape, refused_by: textArrayShape, tried: timeShape }),
      diverging_items: textArrayShape,
      merkle_sync_progress: objectShape({ sync_progress: intShape, sync_total_keys: intShape }),
    },
  ),
)

export const drStatusShape = unionShape(disabledStatus, primaryStatus, secondaryStatus)

/** The `data` of a status answer of this version, by mode. */
export type PrimaryStatus = ValueOf<typeof primaryStatus>
export type SecondaryStatus = ValueOf<typeof secondaryStatus>
type DisabledStatus = ValueOf<typeof disabledStatus>
export type DrStatus = DisabledStatus | PrimaryStatus | SecondaryStatus
/** Fields that a status of any mode may have. */
export type UnderWayFields = Omit<DisabledStatus, 'mode'>
