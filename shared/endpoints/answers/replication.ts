import { lossShape } from '../../set/loss.ts'
import {
  checksShape,
  operationTokenShape,
  planShape,
  readyLicenseShape,
  stepsShape,
} from '../../set/readiness.ts'
import { rootShapes, statusShape } from '../../set/schema.ts'
import {
  aFlag,
  always,
  anInt,
  aText,
  aTime,
  manyOf,
  mapOf,
  object,
  oneOf,
  orNull,
  texts,
  titled,
  words,
} from '../../values/shape.ts'
import { licenseShape } from './system.ts'
import { type Answers, told } from './told.ts'

const performance = titled('PerformanceStatus', object({ mode: always('disabled') }))

const versions = { version: aText, api_version: aText, format: anInt }

const ofBoth = {
  ready: aFlag,
  cluster_id: aText,
  checks: checksShape,
  keyring: object({ opens: aFlag, fields_tried: anInt, failed: texts, term: anInt }),
  tree: object({ corrupted: aFlag, reindexing: aFlag }),
  operation_token: operationTokenShape,
  recovery: object({ shares: anInt, threshold: anInt }),
  region: object({
    own: aText,
    settings: manyOf(
      titled(
        'PlacedSetting',
        object({ path: aText, field: aText, value: aText, region: aText, elsewhere: aFlag, text: aText }),
      ),
    ),
  }),
  license: readyLicenseShape,
}

const primaryReadiness = titled(
  'PrimaryReadiness',
  object({
    mode: always('primary'),
    ...ofBoth,
    versions: object(versions),
    planned_switch: stepsShape,
    position: object({ epoch: aText, last: anInt }),
    secondaries: manyOf(
      titled(
        'Successor',
        object(
          {
            id: aText,
            address: aText,
            version: aText,
            takes_over: aFlag,
            text: aText,
            activation_token: object({ age_seconds: anInt, used: aFlag, expired: aFlag, expires: aTime }),
          },
          {
            state: aText,
            applied: anInt,
            clock_skew_ms: anInt,
            behind: anInt,
            behind_ms: anInt,
            last_heartbeat: aTime,
          },
        ),
      ),
    ),
  }),
)

const secondaryReadiness = titled(
  'SecondaryReadiness',
  object({
    mode: words('secondary', 'bootstrapping'),
    ...ofBoth,
    versions: object({ ...versions, primary_format: orNull(anInt) }),
    promotion: planShape,
    promotion_with_force: planShape,
    lag: titled(
      'Lag',
      object(
        {
          epoch: aText,
          received: anInt,
          applied: anInt,
          primary: words('answers', 'silent', 'refuses', 'none'),
        },
        {
          text: aText,
          behind_ms: anInt,
          last_contact: aTime,
          last_contact_age_ms: anInt,
          primary_position: anInt,
          primary_frontier: anInt,
          clock_skew_ms: anInt,
        },
      ),
    ),
  }),
)

const subtree = object({
  tree_type: words('replicated', 'local'),
  root_hash: aText,
  corrupted_subtree_root: aFlag,
  corrupted_index_tuples_map: orNull(mapOf(object({ corrupted: aFlag, subpages: manyOf(anInt) }))),
})
const treeReport = object({
  merkle_corruption_report: titled(
    'TreeReport',
    object({
      corrupted_root: aFlag,
      last_corruption_check_epoch: aTime,
      corrupted_tree_map: object({ '1': subtree, '2': subtree }),
    }),
  ),
})

const operator = { dr_operation_token: 'hvs.CAESIJ' }
const byOperator = { sent: operator }
const DR = '/sys/replication/dr'

/** Replication to other clusters, and the licence that it needs. */
export const replicationAnswers: Answers = {
  [`GET ${DR}/status`]: told('readDrStatus', statusShape),
  'GET /sys/replication/status': told('readReplicationStatus', object({ dr: statusShape, performance })),
  'GET /sys/replication/performance/status': told('readPerformanceStatus', performance),
  [`POST ${DR}/primary/enable`]: told('enablePrimary', undefined, { sent: {} }),
  [`POST ${DR}/primary/demote`]: told('demotePrimary', object({ final_wal: anInt, epoch: aText })),
  [`POST ${DR}/primary/disable`]: told('disablePrimary'),
  [`POST ${DR}/primary/secondary-token`]: told('makeSecondaryToken', object({ token: aText }), {
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
    object({ secondary_public_key: aText }),
    byOperator,
  ),
  [`POST ${DR}/secondary/merkle-check`]: told('checkTreeOfSecondary', treeReport, byOperator),
  [`POST ${DR}/secondary/merkle-root`]: told('computeRootOfSecondary', object(rootShapes), byOperator),
  [`POST ${DR}/secondary/reindex`]: told('reindexSecondary', undefined, byOperator),
  'POST /sys/replication/merkle-check': told('checkTree', treeReport),
  'POST /sys/replication/merkle-root': told('computeRoot', object(rootShapes)),
  'POST /sys/replication/reindex': told('reindex', undefined, { sent: { diff: false } }),
  [`POST ${DR}/secondary/recover`]: told('recoverLinkOfSecondary', undefined, byOperator),
  'POST /sys/replication/recover': told('recoverLink'),
  [`GET ${DR}/divergence`]: told('readDivergence', lossShape),
  [`GET ${DR}/readiness`]: told('readReadiness', oneOf(primaryReadiness, secondaryReadiness)),
  [`POST ${DR}/secondary/readiness`]: told('readReadinessOfSecondary', secondaryReadiness, byOperator),
  [`GET ${DR}/secondary/license/status`]: told('readLicenseOfSecondary', licenseShape),
  [`POST ${DR}/secondary/license/status`]: told('readLicenseOfSecondaryByPost', licenseShape, byOperator),
  'GET /sys/license/status': told('readLicense', licenseShape),
  'GET /sys/license/features': told('listLicensedFeatures', object({ features: texts })),
}
