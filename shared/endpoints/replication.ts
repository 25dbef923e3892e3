import {
  allowAnyone,
  allowByPolicy,
  allowOperationToken,
  type EndpointGroup,
  endpointRow,
} from '../api/endpoint.ts'
import { requireDrReplication, requireUnexpiredLicence } from '../api/licence.ts'
import {
  divergingItemsFields,
  prepareDivergingItems,
  showDivergingItems,
} from '../replication/handlers/divergence.ts'
import {
  disablePrimary,
  enablePrimary,
  enablePrimaryFields,
  endOwnJournal,
} from '../replication/handlers/primary.ts'
import {
  demotePrimary,
  preparePromotion,
  promoteFields,
  promoteSecondary,
} from '../replication/handlers/promote.ts'
import { showReadiness, showSecondaryReadiness } from '../replication/handlers/readiness.ts'
import { prepareClusterRecord } from '../replication/handlers/record.ts'
import {
  revokeRequestedCluster,
  revokeSecondary,
  revokeSecondaryFields,
} from '../replication/handlers/revoke.ts'
import { prepareKeyRotation } from '../replication/handlers/rotate.ts'
import {
  auditReplacement,
  generateLinkPublicKey,
  makeSecondaryToken,
  prepareSecondaryToken,
  secondaryTokenFields,
} from '../replication/handlers/secondaries.ts'
import {
  becomeSecondary,
  becomeSecondaryFields,
  disableSecondary,
  prepareActivation,
  recoverPrimaryLink,
} from '../replication/handlers/secondary.ts'
import { showDrStatus, showPerformanceStatus, showReplicationStatus } from '../replication/handlers/status.ts'
import {
  checkMerkleTree,
  checkSecondaryTree,
  computeMerkleRoot,
  prepareTreeWork,
  reindexSecondary,
  reindexTree,
  reindexTreeFields,
} from '../replication/handlers/tree.ts'
import { updatePrimary, updatePrimaryFields } from '../replication/handlers/update-primary.ts'
import { prepareDrStatus } from '../replication/status/look.ts'
import { showLicenseFeatures, showLicenseStatus } from '../system/license-status.ts'

/** Monitors read the replication status often, on clusters of every role and with any namespace. */
const status = {
  access: allowAnyone,
  serves: 'always',
  anyNamespace: true,
  unaudited: true,
  mirrored: true,
} as const

/** Rows for a DR secondary, which admits DR operation tokens. */
const onSecondary = {
  licence: requireDrReplication,
  access: allowOperationToken,
  serves: 'secondary',
} as const

/** Rows for a cluster of a DR set in either role. */
const inSet = { licence: requireDrReplication, serves: 'dr' } as const

/** Rows that start a workflow on the Merkle tree. */
const onTree = { uses: ['link', 'workflow'], prepare: prepareTreeWork } as const

/** The licence endpoint works without a licence, because it reports why there is no licence. */
const secondaryLicence = {
  path: '/sys/replication/dr/secondary/license/status',
  access: allowOperationToken,
  serves: 'secondary',
  uses: ['licence'],
  answers: 'data',
  handle: showLicenseStatus,
} as const

export const replicationGroup: EndpointGroup = {
  name: 'replication',
  prefixes: ['/sys/replication', '/sys/license'],
  endpoints: [
    endpointRow.get({
      ...status,
      path: '/sys/replication/dr/status',
      summary: 'Mode and progress of DR replication',
      prepare: prepareDrStatus,
      handle: showDrStatus,
    }),
    endpointRow.get({
      ...status,
      path: '/sys/replication/status',
      summary: 'Mode and progress of DR and performance replication',
      prepare: prepareDrStatus,
      handle: showReplicationStatus,
    }),
    endpointRow.get({
      ...status,
      path: '/sys/replication/performance/status',
      summary: 'State of performance replication, which this service does not have',
      handle: showPerformanceStatus,
    }),
    endpointRow.post({
      path: '/sys/replication/dr/primary/enable',
      summary: 'Make this cluster the primary of a new DR set',
      fields: enablePrimaryFields,
      licence: requireUnexpiredLicence,
      uses: ['journal', 'key-factory', 'link', 'background'],
      prepare: prepareClusterRecord,
      handle: enablePrimary,
    }),
    endpointRow.post({
      licence: requireDrReplication,
      path: '/sys/replication/dr/primary/demote',
      summary: 'Demote this primary to a secondary that follows no cluster',
      serves: 'demotion',
      uses: ['journal', 'role', 'link', 'workflow'],
      answers: 'data',
      prepare: prepareClusterRecord,
      handle: demotePrimary,
    }),
    endpointRow.post({
      licence: requireDrReplication,
      path: '/sys/replication/dr/primary/disable',
      summary: 'Disable DR replication on this primary, which ends its set',
      serves: 'primary',
      uses: ['journal', 'key-factory', 'link', 'background'],
      prepare: prepareClusterRecord,
      first: endOwnJournal,
      handle: disablePrimary,
    }),
    endpointRow.post({
      path: '/sys/replication/dr/primary/secondary-token',
      summary: 'Create an activation token for a new secondary',
      fields: secondaryTokenFields,
      access: allowByPolicy('update', { sudo: true }),
      serves: 'primary',
      licence: requireUnexpiredLicence,
      uses: ['link'],
      answers: 'data',
      secretAnswers: ['token'],
      prepare: prepareSecondaryToken,
      first: auditReplacement,
      handle: makeSecondaryToken,
    }),
    endpointRow.post({
      licence: requireDrReplication,
      path: '/sys/replication/dr/primary/revoke-secondary',
      summary: 'Revoke a secondary',
      fields: revokeSecondaryFields,
      serves: 'primary',
      uses: ['journal', 'link', 'key-factory'],
      prepare: prepareKeyRotation,
      first: revokeRequestedCluster,
      handle: revokeSecondary,
    }),
    endpointRow.post({
      path: '/sys/replication/dr/secondary/enable',
      summary: 'Make this cluster a secondary; deletes its data',
      fields: becomeSecondaryFields,
      licence: requireUnexpiredLicence,
      uses: ['link', 'key-factory', 'workflow', 'authorities'],
      prepare: prepareActivation,
      handle: becomeSecondary,
    }),
    endpointRow.post({
      licence: requireDrReplication,
      path: '/sys/replication/dr/secondary/promote',
      summary: 'Promote this secondary to the primary of its set',
      fields: promoteFields,
      access: allowOperationToken,
      serves: 'dr',
      uses: ['link', 'role', 'workflow'],
      prepare: preparePromotion,
      handle: promoteSecondary,
    }),
    endpointRow.post({
      ...onSecondary,
      path: '/sys/replication/dr/secondary/disable',
      summary: 'Disable DR replication on this secondary: it leaves its set and serves clients with its data',
      uses: ['journal', 'role', 'link', 'workflow'],
      prepare: prepareClusterRecord,
      handle: disableSecondary,
    }),
    endpointRow.post({
      ...onSecondary,
      path: '/sys/replication/dr/secondary/update-primary',
      summary: 'Make this secondary follow another primary of its set, or no primary',
      fields: updatePrimaryFields,
      uses: ['role', 'link', 'workflow', 'authorities'],
      prepare: prepareActivation,
      handle: updatePrimary,
    }),
    endpointRow.post({
      ...inSet,
      path: '/sys/replication/dr/secondary/generate-public-key',
      summary: 'Create a key pair for activating this cluster as a secondary',
      access: allowByPolicy('update', { orOperationToken: true }),
      uses: ['link'],
      answers: 'data',
      handle: generateLinkPublicKey,
    }),
    endpointRow.post({
      ...onSecondary,
      ...onTree,
      path: '/sys/replication/dr/secondary/merkle-check',
      summary: 'Check the Merkle tree of this secondary',
      answers: 'data',
      handle: checkSecondaryTree,
    }),
    endpointRow.post({
      ...onSecondary,
      path: '/sys/replication/dr/secondary/merkle-root',
      summary: 'Compute the Merkle root of this secondary now',
      uses: ['journal'],
      answers: 'data',
      handle: computeMerkleRoot,
    }),
    endpointRow.post({
      ...onSecondary,
      ...onTree,
      path: '/sys/replication/dr/secondary/reindex',
      summary: 'Rebuild the Merkle tree of this secondary',
      fields: reindexTreeFields,
      handle: reindexSecondary,
    }),
    endpointRow.post({
      ...inSet,
      ...onTree,
      path: '/sys/replication/merkle-check',
      summary: 'Check the Merkle tree of this cluster',
      answers: 'data',
      handle: checkMerkleTree,
    }),
    endpointRow.post({
      ...inSet,
      path: '/sys/replication/merkle-root',
      summary: 'Compute the Merkle root of this cluster now',
      uses: ['journal'],
      answers: 'data',
      handle: computeMerkleRoot,
    }),
    endpointRow.post({
      ...inSet,
      ...onTree,
      path: '/sys/replication/reindex',
      summary: 'Rebuild the Merkle tree of this cluster',
      fields: reindexTreeFields,
      access: allowByPolicy('update', { sudo: true }),
      handle: reindexTree,
    }),
    endpointRow.post({
      ...onSecondary,
      path: '/sys/replication/dr/secondary/recover',
      summary: 'Restart the link of this secondary to its primary',
      uses: ['link', 'pull'],
      handle: recoverPrimaryLink,
    }),
    endpointRow.post({
      ...inSet,
      path: '/sys/replication/recover',
      summary: 'Restart a stopped link; needs a token with sudo instead of a DR operation token',
      access: allowByPolicy('update', { sudo: true }),
      uses: ['link', 'pull'],
      handle: recoverPrimaryLink,
    }),
    endpointRow.get({
      ...inSet,
      path: '/sys/replication/dr/divergence',
      summary: 'Report the commits of this cluster that its set lost in a fail-over',
      fields: divergingItemsFields,
      access: allowByPolicy('read', { sudo: true }),
      prepare: prepareDivergingItems,
      handle: showDivergingItems,
    }),
    endpointRow.get({
      ...inSet,
      path: '/sys/replication/dr/readiness',
      summary: 'Report whether another cluster, or this one, could take over now, and with what effect',
      access: allowByPolicy('read', { sudo: true }),
      uses: ['journal', 'peers', 'authorities'],
      withoutKeyring: true,
      handle: showReadiness,
    }),
    endpointRow.post({
      ...onSecondary,
      path: '/sys/replication/dr/secondary/readiness',
      summary: 'Report whether this secondary could be promoted now, and with what effect',
      uses: ['journal', 'peers', 'authorities'],
      answers: 'data',
      withoutKeyring: true,
      handle: showSecondaryReadiness,
    }),
    endpointRow.get({ ...secondaryLicence, summary: 'The licence of this deployment, on a secondary' }),
    endpointRow.post({ ...secondaryLicence, summary: 'Look up a token that is sent in the body' }),
    endpointRow.get({
      path: '/sys/license/status',
      summary: 'The licence of this deployment',
      uses: ['licence'],
      handle: showLicenseStatus,
    }),
    endpointRow.get({
      path: '/sys/license/features',
      summary: 'The licensed features of this deployment',
      access: { by: 'token' },
      uses: ['licence'],
      mirrored: true,
      handle: showLicenseFeatures,
    }),
  ],
}
