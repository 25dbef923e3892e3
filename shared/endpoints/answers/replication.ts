import {
  type Answers,
  always,
  anything,
  bool,
  int,
  listOf,
  mapOf,
  named,
  object,
  orNull,
  saying,
  text,
  texts,
  time,
  timeOrEmpty,
  told,
  words,
} from './shape.ts'
import { licenseStatus } from './system.ts'

const NUMBER = saying(text, 'a number as text')
const ID = { id: text, name: text, step: text }

const tree = {
  cluster_id: text,
  merkle_root: text,
  corrupted_merkle_tree: bool,
  last_corruption_check_epoch: saying(text, 'epoch seconds as text'),
  last_reindex_epoch: saying(text, 'epoch seconds as text'),
  ssct_generation_counter: int,
}
const building = {
  reindex_in_progress: bool,
  reindex_stage: words('scanning', 'building', 'commit'),
  reindex_building_progress: int,
  reindex_building_total: int,
}
const underWay = {
  operation: named('RoleOperation', object({ ...ID, since: time, waits_until: timeOrEmpty, error: text })),
  last_error: named('LastError', object({ text, time }, { operation: object(ID) })),
}

const heartbeat = {
  last_heartbeat: time,
  last_heartbeat_duration_ms: NUMBER,
  clock_skew_ms: NUMBER,
  replication_primary_canary_age_ms: NUMBER,
}
const connection = { connection_status: words('connected', 'disconnected') }
const addresses = { api_address: text, cluster_address: text }

const term = object(
  {
    id: text,
    number: int,
    since: time,
    given_to: listOf(object({ cluster_id: text, name: text, revoked: bool })),
    acknowledged_by: texts,
    unacknowledged_by: texts,
  },
  { tokens_until: time },
)

const disabledStatus = named('DisabledStatus', object({ mode: always('disabled') }, underWay))

const primaryStatus = named(
  'PrimaryStatus',
  object(
    {
      mode: always('primary'),
      ...tree,
      state: words('running', 'idle'),
      primary_cluster_addr: text,
      known_secondaries: texts,
      last_wal: int,
      last_dr_wal: int,
      secondaries: listOf(
        named(
          'KnownSecondary',
          object({ node_id: text, ...connection }, { ...addresses, ...heartbeat, expired: bool }),
        ),
      ),
    },
    {
      ...building,
      ...underWay,
      terms: listOf(named('TermOfPrimary', term)),
      fences: listOf(object({ cluster_address: text, result: text, text, since: time })),
    },
  ),
)

const secondaryStatus = named(
  'SecondaryStatus',
  object(
    {
      mode: words('secondary', 'bootstrapping'),
      ...tree,
      state: words('idle', 'stream-wals', 'merkle-diff', 'merkle-sync'),
      connection_state: words('idle', 'connecting', 'ready', 'transient_failure'),
      secondary_id: text,
      primary_cluster_addr: text,
      known_primary_cluster_addrs: texts,
      last_remote_wal: int,
      last_start: timeOrEmpty,
      primaries: listOf(
        named(
          'KnownPrimary',
          object(
            { ...addresses, ...connection },
            { ...heartbeat, last_position: int, last_position_time: time },
          ),
        ),
      ),
    },
    {
      ...building,
      ...underWay,
      activation_error: text,
      readiness: object({ ready: bool, refused_by: texts, tried: time }),
      diverging_items: texts,
      merkle_sync_progress: object({ sync_progress: int, sync_total_keys: int }),
    },
  ),
)

const status: { anyOf: object[] } = { anyOf: [disabledStatus, primaryStatus, secondaryStatus] }
const performance = named('PerformanceStatus', object({ mode: always('disabled') }))

const check = named('ReadinessCheck', object({ name: text, passes: bool, text, overridden_by_force: bool }))
const steps = listOf(object({ step: text, does: text }))
const plan = named('PromotionPlan', object({ goes_through: bool, refused: text, warnings: texts, steps }))
const versions = { version: text, api_version: text, format: int }

const ofBoth = {
  ready: bool,
  cluster_id: text,
  checks: listOf(check),
  keyring: object({ opens: bool, fields_tried: int, failed: texts, term: int }),
  tree: object({ corrupted: bool, reindexing: bool }),
  operation_token: named(
    'PreparedOperationToken',
    object({
      generated: orNull(object({ made: time, age_seconds: int })),
      presented: object({ counts: bool, why: text, expires: timeOrEmpty, seconds_left: int }),
      roles: texts,
      policies: texts,
    }),
  ),
  recovery: object({ shares: int, threshold: int, rekey_needed: bool }),
  region: object({
    own: text,
    settings: listOf(
      named(
        'PlacedSetting',
        object({ path: text, field: text, value: text, region: text, elsewhere: bool, text }),
      ),
    ),
  }),
  license: object({ ends: timeOrEmpty, seconds_left: int, text }),
}

const primaryReadiness = named(
  'PrimaryReadiness',
  object({
    mode: always('primary'),
    ...ofBoth,
    versions: object(versions),
    planned_switch: steps,
    position: object({ epoch: text, last: int }),
    secondaries: listOf(
      named(
        'Successor',
        object(
          {
            id: text,
            address: text,
            version: text,
            takes_over: bool,
            text,
            activation_token: object({ age_seconds: int, used: bool, expired: bool, expires: time }),
          },
          {
            state: text,
            applied: int,
            clock_skew_ms: int,
            behind: int,
            behind_ms: int,
            last_heartbeat: time,
          },
        ),
      ),
    ),
  }),
)

const secondaryReadiness = named(
  'SecondaryReadiness',
  object({
    mode: words('secondary', 'bootstrapping'),
    ...ofBoth,
    versions: object({ ...versions, primary_format: orNull(int) }),
    promotion: plan,
    promotion_with_force: plan,
    lag: named(
      'Lag',
      object(
        {
          epoch: text,
          received: int,
          applied: int,
          primary: words('answers', 'silent', 'refuses', 'none'),
        },
        {
          text,
          behind_ms: int,
          last_contact: time,
          last_contact_age_ms: int,
          primary_position: int,
          primary_frontier: int,
          clock_skew_ms: int,
        },
      ),
    ),
  }),
)

const subtree = object({
  tree_type: words('replicated', 'local'),
  root_hash: text,
  corrupted_subtree_root: bool,
  corrupted_index_tuples_map: orNull(mapOf(object({ corrupted: bool, subpages: listOf(int) }))),
})
const treeReport = object({
  merkle_corruption_report: named(
    'TreeReport',
    object({
      corrupted_root: bool,
      last_corruption_check_epoch: time,
      corrupted_tree_map: object({ '1': subtree, '2': subtree }),
    }),
  ),
})

const place = { kind: text, key: texts, what: text }
const divergence = named(
  'DivergenceReport',
  object(
    {
      complete: bool,
      waits_for: text,
      lost: listOf(
        named(
          'LostCommit',
          object(
            {
              name: text,
              position: text,
              commit: text,
              time,
              cut: int,
              epoch: text,
              changes: listOf(
                object(place, { item: saying(anything, 'as it was stored'), deleted: always(true) }),
              ),
            },
            { too_large: always(true) },
          ),
        ),
      ),
      next: saying(text, 'what `after` takes; empty: there is no more'),
      diverging: listOf(object({ ...place, rounds: int, last_found: time, given_up: bool, name: text })),
    },
    {
      counts: object(
        { commits: int, kinds: mapOf(object({ written: int, deleted: int })) },
        { more: always(true) },
      ),
    },
  ),
)

const operator = { dr_operation_token: 'hvs.CAESIJ' }
const byOperator = { sent: operator }
const DR = '/sys/replication/dr'

/** Replication to other clusters, and the licence that it needs. */
export const replicationAnswers: Answers = {
  [`GET ${DR}/status`]: told('readDrStatus', status),
  'GET /sys/replication/status': told('readReplicationStatus', object({ dr: status, performance })),
  'GET /sys/replication/performance/status': told('readPerformanceStatus', performance),
  [`POST ${DR}/primary/enable`]: told('enablePrimary', undefined, { sent: {} }),
  [`POST ${DR}/primary/demote`]: told('demotePrimary', object({ final_wal: int, epoch: text })),
  [`POST ${DR}/primary/disable`]: told('disablePrimary'),
  [`POST ${DR}/primary/secondary-token`]: told('makeSecondaryToken', object({ token: text }), {
    sent: { id: 'eu', ttl: '30m' },
    wrapped: 'usually',
  }),
  [`POST ${DR}/primary/revoke-secondary`]: told('revokeSecondary', undefined, { sent: { id: 'eu' } }),
  [`POST ${DR}/secondary/enable`]: told('becomeSecondary', undefined, { sent: { token: 'eyJhbGciOiJF' } }),
  [`POST ${DR}/secondary/promote`]: told('promoteSecondary', undefined, byOperator),
  [`POST ${DR}/secondary/disable`]: told('disableSecondary', undefined, byOperator),
  [`POST ${DR}/secondary/update-primary`]: told('updatePrimary', undefined, {
    sent: { ...operator, token: 'eyJhbGciOiJF' },
  }),
  [`POST ${DR}/secondary/generate-public-key`]: told(
    'generatePublicKey',
    object({ secondary_public_key: text }),
    byOperator,
  ),
  [`POST ${DR}/secondary/merkle-check`]: told('checkTreeOfSecondary', treeReport, byOperator),
  [`POST ${DR}/secondary/reindex`]: told('reindexSecondary', undefined, byOperator),
  'POST /sys/replication/merkle-check': told('checkTree', treeReport),
  'POST /sys/replication/reindex': told('reindex', undefined, { sent: { diff: false } }),
  [`POST ${DR}/secondary/recover`]: told('recoverLinkOfSecondary', undefined, byOperator),
  'POST /sys/replication/recover': told('recoverLink'),
  [`GET ${DR}/divergence`]: told('readDivergence', divergence),
  [`GET ${DR}/readiness`]: told('readReadiness', { anyOf: [primaryReadiness, secondaryReadiness] }),
  [`POST ${DR}/secondary/readiness`]: told('readReadinessOfSecondary', secondaryReadiness, byOperator),
  [`GET ${DR}/secondary/license/status`]: told('readLicenseOfSecondary', licenseStatus),
  [`POST ${DR}/secondary/license/status`]: told('readLicenseOfSecondaryByPost', licenseStatus, byOperator),
  'GET /sys/license/status': told('readLicense', licenseStatus),
  'GET /sys/license/features': told('listLicensedFeatures', object({ features: texts })),
}
