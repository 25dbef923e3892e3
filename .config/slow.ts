const replication = [
  ...['alarms', 'check', 'checks', 'conflicts', 'days', 'deaths', 'enable', 'games', 'late', 'lives', 'primary'],
  ...['reindex', 'replace', 'rivals', 'silence', 'slow-primary', 'steps', 'workflows', 'writer'],
]

/**
 * Tests of random requests and histories, of a crash at each call, and of whole lives of clusters. Each test file takes
 * 4 to 30 seconds of processor time, so `npm test` leaves them to `npm run test:slow`, which CI runs after `npm test`.
 */
export const SLOW: readonly string[] = [
  'contract/fuzz',
  'crash/mounts',
  'crash/points',
  'faults/unfinished-roles',
  'mounts/removal',
  'rotate-root/crash',
  'tidy/long-runs',
  ...replication.map(name => `replication/${name}`),
].map(name => `test/integration/alone/${name}.test.ts`)
