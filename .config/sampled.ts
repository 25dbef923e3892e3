const replication = ['alarms', 'deaths', 'games', 'late', 'lives', 'primary', 'rivals']

/**
 * Tests of random requests and histories, of a crash at each call, and the longest tests of replication. Each test file
 * takes up to half a minute of processor time, so `npm test` leaves them to `npm run test:sampled`, which CI runs after
 * `npm test`.
 */
export const SAMPLED: readonly string[] = [
  'test/integration/alone/contract/fuzz.test.ts',
  'test/integration/alone/crash/points.test.ts',
  ...replication.map(name => `test/integration/alone/replication/${name}.test.ts`),
]
