import { anyone, endpoint, type Group, policy } from '../api/endpoint.ts'
import { showDrStatus, showPerformanceStatus, showStatus } from '../replication/show-status.ts'
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

export const replicationGroup: Group = {
  name: 'replication',
  prefixes: ['/sys/replication', '/sys/license'],
  endpoints: [
    endpoint({
      ...status,
      path: '/sys/replication/dr/status',
      summary: 'Mode and progress of DR replication',
      handle: showDrStatus,
    }),
    endpoint({
      ...status,
      path: '/sys/replication/status',
      summary: 'Mode and progress of replication of both kinds',
      handle: showStatus,
    }),
    endpoint({
      ...status,
      path: '/sys/replication/performance/status',
      summary: 'Performance replication: there is none',
      handle: showPerformanceStatus,
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
