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
  anInt,
  aText,
  aTime,
  constOf,
  enumOf,
  manyOf,
  mapOf,
  object,
  oneOf,
  orNull,
  texts,
  withTitle,
} from '../../values/shape.ts'
import { type Answers, describeAnswer } from './describe.ts'
import { licenseShape } from './system.ts'

const performance = withTitle('PerformanceStatus', object({ mode: constOf('disabled') }))

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
      withTitle(
        'PlacedSetting',
        object({ path: aText, field: aText, value: aText, region: aText, elsewhere: aFlag, text: aText }),
      ),
    ),
  }),
  license: readyLicenseShape,
}

const primaryReadiness = withTitle(
  'PrimaryReadiness',
  object({
    mode: constOf('primary'),
    ...ofBoth,
    versions: object(versions),
    planned_switch: stepsShape,
    position: object({ epoch: aText, last: anInt }),
    secondaries: manyOf(
      withTitle(
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

const secondaryReadiness = withTitle(
  'SecondaryReadiness',
  object({
    mode: enumOf('secondary', 'bootstrapping'),
    ...ofBoth,
    versions: object({ ...versions, primary_format: orNull(anInt) }),
    promotion: planShape,
    promotion_with_force: planShape,
    lag: withTitle(
      'Lag',
      object(
        {
          epoch: aText,
          received: anInt,
          applied: anInt,
          primary: enumOf('answers', 'silent', 'refuses', 'none'),
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
  tree_type: enumOf('replicated', 'local'),
  root_hash: aText,
  corrupted_subtree_root: aFlag,
  corrupted_index_tuples_map: orNull(mapOf(object({ corrupted: aFlag, subpages: manyOf(anInt) }))),
})
const treeReport = object({
  merkle_corruption_report: withTitle(
    'TreeReport',
    object({
      corrupted_root: aFlag,
      last_corruption_check_epoch: aTime,
      corrupted_tree_map: object({ '1': subtree, '2': subtree }),
    }),
  ),
})

const operator = { dr_operation_token: 'hvs.CAESIJ' }
const byOperator = { requestExample: operator }
const DR = '/sys/replication/dr'

/** Responses of replication and its licence. */
export const replicationAnswers: Answers = {
  [`GET ${DR}/status`]: describeAnswer('readDrStatus', statusShape),
  'GET /sys/replication/status': describeAnswer(
    'readReplicationStatus',
    object({ dr: statusShape, performance }),
  ),
  'GET /sys/replication/performance/status': describeAnswer('readPerformanceStatus', performance),
  [`POST ${DR}/primary/enable`]: describeAnswer('enablePrimary', undefined, { requestExample: {} }),
  [`POST ${DR}/primary/demote`]: describeAnswer('demotePrimary', object({ final_wal: anInt, epoch: aText })),
  [`POST ${DR}/primary/disable`]: describeAnswer('disablePrimary'),
  [`POST ${DR}/primary/secondary-token`]: describeAnswer('makeSecondaryToken', object({ token: aText }), {
    requestExample: { id: 'eu', ttl: '30m' },
    wrapped: 'usually',
  }),
  [`POST ${DR}/primary/revoke-secondary`]: describeAnswer('revokeSecondary', undefined, {
    requestExample: { id: 'eu' },
  }),
  [`POST ${DR}/secondary/enable`]: describeAnswer('becomeSecondary', undefined, {
    requestExample: { token: 'eyJhbGciOiJF' },
  }),
  [`POST ${DR}/secondary/promote`]: describeAnswer('promoteSecondary', undefined, byOperator),
  [`POST ${DR}/secondary/disable`]: describeAnswer('disableSecondary', undefined, byOperator),
  [`POST ${DR}/secondary/update-primary`]: describeAnswer('updatePrimary', undefined, {
    requestExample: { ...operator, token: 'eyJhbGciOiJF' },
  }),
  [`POST ${DR}/secondary/generate-public-key`]: describeAnswer(
    'generatePublicKey',
    object({ secondary_public_key: aText }),
    byOperator,
  ),
  [`POST ${DR}/secondary/merkle-check`]: describeAnswer('checkTreeOfSecondary', treeReport, byOperator),
  [`POST ${DR}/secondary/merkle-root`]: describeAnswer(
    'computeRootOfSecondary',
    object(rootShapes),
    byOperator,
  ),
  [`POST ${DR}/secondary/reindex`]: describeAnswer('reindexSecondary', undefined, byOperator),
  'POST /sys/replication/merkle-check': describeAnswer('checkTree', treeReport),
  'POST /sys/replication/merkle-root': describeAnswer('computeRoot', object(rootShapes)),
  'POST /sys/replication/reindex': describeAnswer('reindex', undefined, { requestExample: { diff: false } }),
  [`POST ${DR}/secondary/recover`]: describeAnswer('recoverLinkOfSecondary', undefined, byOperator),
  'POST /sys/replication/recover': describeAnswer('recoverLink'),
  [`GET ${DR}/divergence`]: describeAnswer('readDivergence', lossShape),
  [`GET ${DR}/readiness`]: describeAnswer('readReadiness', oneOf(primaryReadiness, secondaryReadiness)),
  [`POST ${DR}/secondary/readiness`]: describeAnswer(
    'readReadinessOfSecondary',
    secondaryReadiness,
    byOperator,
  ),
  [`GET ${DR}/secondary/license/status`]: describeAnswer('readLicenseOfSecondary', licenseShape),
  [`POST ${DR}/secondary/license/status`]: describeAnswer(
    'readLicenseOfSecondaryByPost',
    licenseShape,
    byOperator,
  ),
  'GET /sys/license/status': describeAnswer('readLicense', licenseShape),
  'GET /sys/license/features': describeAnswer('listLicensedFeatures', object({ features: texts })),
}
