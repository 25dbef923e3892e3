import { anyone, endpoint, type Group, operationToken, policy } from '../api/endpoint.ts'
import { named, unexpired } from '../api/licence.ts'
import { demotePrimary } from '../replication/manage/demote.ts'
import { disableSecondary } from '../replication/manage/disable.ts'
import { prepareLook } from '../replication/manage/look.ts'
import { disablePrimary, enablePrimary, primaryFields } from '../replication/manage/primary.ts'
import { prepareRecord } from '../replication/manage/record.ts'
import {
  generatePublicKey,
  makeSecondaryToken,
  prepareToken,
  revokeFields,
  revokeSecondary,
  secondaryTokenFields,
} from '../replication/manage/secondaries.ts'
import { becomeFields, becomeSecondary, prepareActivation } from '../replication/manage/secondary.ts'
import { showDrStatus, showPerformanceStatus, showStatus } from '../replication/manage/show-status.ts'
import { prepareUpdate, updateFields, updatePrimary } from '../replication/manage/update-primary.ts'
import { preparePromotion, promote, promoteFields } from '../replication/promotion/promote.ts'
import { licenseStatus } from '../system/license-status.ts'

/** Machines ask for it all the time, of any cluster; whichever namespace they send along. */
const status = {
  method: 'GET',
  access: anyone,
  serves: 'always',
  anyNamespace: true,
  unaudited: true,
  answers: 'data',
  mirrored: true,
} as const

const change = { method: 'POST', answers: 'nothing', licence: named } as const

export const replicationGroup: Group = {
  name: 'replication',
  prefixes: ['/sys/replication', '/sys/license'],
  endpoints: [
    endpoint({
      ...status,
      path: '/sys/replication/dr/status',
      summary: 'Mode and progress of DR replication',
      prepare: prepareLook,
      handle: showDrStatus,
    }),
    endpoint({
      ...status,
      path: '/sys/replication/status',
      summary: 'Mode and progress of replication of both kinds',
      prepare: prepareLook,
      handle: showStatus,
    }),
    endpoint({
      ...status,
      path: '/sys/replication/performance/status',
      summary: 'Performance replication: there is none',
      handle: showPerformanceStatus,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/primary/enable',
      summary: 'Make this cluster the primary of a new DR set',
      fields: primaryFields,
      access: policy('update'),
      licence: unexpired,
      uses: ['journal', 'genesis', 'link', 'background'],
      prepare: prepareRecord,
      handle: enablePrimary,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/primary/demote',
      summary: 'End the journal of this primary: it becomes a secondary that follows nobody',
      access: policy('update'),
      serves: 'demotion',
      uses: ['journal', 'role', 'link', 'workflow'],
      answers: 'data',
      prepare: prepareRecord,
      handle: demotePrimary,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/primary/disable',
      summary: 'End the DR set of this cluster',
      access: policy('update'),
      serves: 'primary',
      uses: ['journal', 'genesis', 'link', 'background'],
      prepare: prepareRecord,
      handle: disablePrimary,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/primary/secondary-token',
      summary: 'Make what a cluster needs to become a secondary of this one',
      fields: secondaryTokenFields,
      access: policy('update', { sudo: true }),
      serves: 'primary',
      licence: unexpired,
      uses: ['link'],
      answers: 'data',
      secretAnswers: ['token'],
      prepare: prepareToken,
      handle: makeSecondaryToken,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/primary/revoke-secondary',
      summary: 'Refuse a secondary from now on',
      fields: revokeFields,
      access: policy('update'),
      serves: 'primary',
      uses: ['link'],
      handle: revokeSecondary,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/secondary/enable',
      summary: 'Make this cluster a secondary: it loses what it has',
      fields: becomeFields,
      access: policy('update'),
      licence: unexpired,
      uses: ['link', 'genesis', 'workflow'],
      prepare: prepareActivation,
      handle: becomeSecondary,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/secondary/promote',
      summary: 'Make this secondary the primary of its set',
      fields: promoteFields,
      access: operationToken,
      serves: 'dr',
      uses: ['link', 'role', 'workflow'],
      prepare: preparePromotion,
      handle: promote,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/secondary/disable',
      summary: 'Have this secondary leave its set: it serves clients with what it has',
      access: operationToken,
      serves: 'secondary',
      uses: ['journal', 'role', 'link', 'workflow'],
      prepare: prepareRecord,
      handle: disableSecondary,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/secondary/update-primary',
      summary: 'Have this secondary follow another primary of its set, or nobody',
      fields: updateFields,
      access: operationToken,
      serves: 'secondary',
      uses: ['role', 'link', 'workflow'],
      prepare: prepareUpdate,
      handle: updatePrimary,
    }),
    endpoint({
      ...change,
      path: '/sys/replication/dr/secondary/generate-public-key',
      summary: 'Make keys for the next link of this cluster to a primary',
      access: policy('update'),
      serves: 'dr',
      uses: ['link'],
      answers: 'data',
      handle: generatePublicKey,
    }),
    endpoint({
      method: 'GET',
      path: '/sys/license/status',
      summary: 'The licence of this deployment',
      access: policy('read'),
      uses: ['licence'],
      answers: 'data',
      handle: licenseStatus,
    }),
  ],
}
