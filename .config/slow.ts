/**
 * Tests of random requests and histories, of a crash at each call, and of whole lives of clusters. Each test file takes
 * 4 to 30 seconds of processor time, so `npm test` leaves them to `npm run test:slow`, which CI runs after `npm test`.
 */
export const SLOW: readonly string[] = [
  'contract/fuzz',
  'crash/mounts',
  'crash/points',
  'faults/unfinished-roles',
  'login/organization',
  'login/organization-map-large',
  'mounts/removal',
  'rotate-root/crash',
  'tidy/long-runs',
  'replication/alarms',
  'replication/check',
  'replication/checks',
  'replication/conflicts',
  'replication/days',
  'replication/deaths',
  'replication/enable',
  'replication/games',
  'replication/late',
  'replication/lives',
  'replication/primary',
  'replication/reindex',
  'replication/replace',
  'replication/rivals',
  'replication/silence',
  'replication/slow-primary',
  'replication/steps',
  'replication/workflows',
  'replication/writer',
].map(name => `test/integration/alone/${name}.test.ts`)
