import { lossReportShape } from '../../set/loss.ts'
import {
  lagHistoryShape,
  operationTokenShape,
  promotionPlanShape,
  promotionStepsShape,
  readinessChecksShape,
  readinessLicenseShape,
} from '../../set/readiness.ts'
import { drStatusShape, treeRootShapes } from '../../set/schema.ts'
import {
  arrayShape,
  constShape,
  enumShape,
  flagShape,
  intShape,
  mapShape,
  nullableShape,
  objectShape,
  textArrayShape,
  textShape,
  timeShape,
  unionShape,
  withTitle,
} from '../../values/shape.ts'
import { type AnswerDescriptions, describeAnswer } from './describe.ts'
import { licenseShape } from './system.ts'

const performance = withTitle('PerformanceStatus', objectShape({ mode: constShape('disabled') }))

const versions = { version: textShape, api_version: textShape, format: intShape }

const ofBoth = {
  ready: flagShape,
  cluster_id: textShape,
  checks: readinessChecksShape,
  keyring: objectShape({ opens: flagShape, fields_tried: intShape, failed: textArrayShape, term: intShape }),
  tree: objectShape({ corrupted: flagShape, reindexing: flagShape }),
  operation_token: operationTokenShape,
  recovery: objectShape({ shares: intShape, threshold: intShape }),
  region: objectShape({
    own: textShape,
    settings: arrayShape(
      withTitle(
        'PlacedSetting',
        objectShape({
          path: textShape,
          field: textShape,
          value: textShape,
          region: textShape,
          elsewhere: flagShape,
          text: textShape,
        }),
      ),
    ),
  }),
  license: readinessLicenseShape,
}

const primaryReadiness = withTitle(
  'PrimaryReadiness',
  objectShape({
    mode: constShape('primary'),
    ...ofBoth,
    versions: objectShape(versions),
    planned_switch: promotionStepsShape,
    position: objectShape({ epoch: textShape, last: intShape }),
    secondaries: arrayShape(
      withTitle(
        'Successor',
        objectShape(
          {
            id: textShape,
            address: textShape,
            version: textShape,
            takes_over: flagShape,
            text: textShape,
            activation_token: objectShape({
              age_seconds: intShape,
              used: flagShape,
              expired: flagShape,
              expires: timeShape,
            }),
          },
          {
            state: textShape,
            applied: intShape,
            clock_skew_ms: intShape,
            behind: intShape,
            behind_ms: intShape,
            last_heartbeat: timeShape,
          },
        ),
      ),
    ),
  }),
)

const secondaryReadiness = withTitle(
  'SecondaryReadiness',
  objectShape({
    mode: enumShape('secondary', 'bootstrapping'),
    ...ofBoth,
    versions: objectShape({ ...versions, primary_format: nullableShape(intShape) }),
    promotion: promotionPlanShape,
    promotion_with_force: promotionPlanShape,
    lag: withTitle(
      'Lag',
      objectShape(
        {
          epoch: textShape,
          received: intShape,
          applied: intShape,
          primary: enumShape('answers', 'silent', 'refuses', 'none'),
        },
        {
          text: textShape,
          behind_ms: intShape,
          last_contact: timeShape,
          last_contact_age_ms: intShape,
          primary_position: intShape,
          primary_frontier: intShape,
          clock_skew_ms: intShape,
          history: withTitle('LagHistory', lagHistoryShape),
        },
      ),
    ),
  }),
)

const subtree = objectShape({
  tree_type: enumShape('replicated', 'local'),
  root_hash: textShape,
  corrupted_subtree_root: flagShape,
  corrupted_index_tuples_map: nullableShape(
    mapShape(objectShape({ corrupted: flagShape, subpages: arrayShape(intShape) })),
  ),
})
const treeReport = objectShape({
  merkle_corruption_report: withTitle(
    'TreeReport',
    objectShape({
      corrupted_root: flagShape,
      last_corruption_check_epoch: timeShape,
      corrupted_tree_map: objectShape({ '1': subtree, '2': subtree }),
    }),
  ),
})

const operator = { dr_operation_token: 'hvs.CAESIJ' }
const byOperator = { requestExample: operator }
const DR = '/sys/replication/dr'

/** Responses of replication and its licence. */
export const replicationAnswers: AnswerDescriptions = {
  [`GET ${DR}/status`]: describeAnswer('readDrStatus', drStatusShape),
  'GET /sys/replication/status': describeAnswer(
    'readReplicationStatus',
    objectShape({ dr: drStatusShape, performance }),
  ),
  'GET /sys/replication/performance/status': describeAnswer('readPerformanceStatus', performance),
  [`POST ${DR}/primary/enable`]: describeAnswer('enablePrimary', undefined, { requestExample: {} }),
  [`POST ${DR}/primary/demote`]: describeAnswer(
    'demotePrimary',
    objectShape({ final_wal: intShape, epoch: textShape }),
  ),
  [`POST ${DR}/primary/disable`]: describeAnswer('disablePrimary'),
  [`POST ${DR}/primary/secondary-token`]: describeAnswer(
    'makeSecondaryToken',
    objectShape({ token: textShape }),
    {
      requestExample: { id: 'eu', ttl: '30m' },
      wrapped: 'usually',
    },
  ),
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
    objectShape({ secondary_public_key: textShape }),
    byOperator,
  ),
  [`POST ${DR}/secondary/merkle-check`]: describeAnswer('checkTreeOfSecondary', treeReport, byOperator),
  [`POST ${DR}/secondary/merkle-root`]: describeAnswer(
    'computeRootOfSecondary',
    objectShape(treeRootShapes),
    byOperator,
  ),
  [`POST ${DR}/secondary/reindex`]: describeAnswer('reindexSecondary', undefined, byOperator),
  'POST /sys/replication/merkle-check': describeAnswer('checkTree', treeReport),
  'POST /sys/replication/merkle-root': describeAnswer('computeRoot', objectShape(treeRootShapes)),
  'POST /sys/replication/reindex': describeAnswer('reindex', undefined, { requestExample: { diff: false } }),
  [`POST ${DR}/secondary/recover`]: describeAnswer('recoverLinkOfSecondary', undefined, byOperator),
  'POST /sys/replication/recover': describeAnswer('recoverLink'),
  [`GET ${DR}/divergence`]: describeAnswer('readDivergence', lossReportShape),
  [`GET ${DR}/readiness`]: describeAnswer('readReadiness', unionShape(primaryReadiness, secondaryReadiness)),
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
  'GET /sys/license/features': describeAnswer(
    'listLicensedFeatures',
    objectShape({ features: textArrayShape }),
  ),
}
