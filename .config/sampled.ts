/**
 * Tests that play random or exhaustive histories: whole lives of pairs, and a crash at each call of a request. Each takes half a
 * minute of processor time, so `npm test` leaves them to `npm run test:sampled`, which CI runs after it.
 */
export const SAMPLED: readonly string[] = [
  'test/integration/alone/crash/points.test.ts',
  ...['deaths', 'late', 'lives', 'rivals'].map(name => `test/integration/alone/replication/${name}.test.ts`),
]

/** Tests of `npm test` that play more in `npm run test:sampled`. */
export const SIZED: readonly string[] = [
  'test/integration/alone/contract/fuzz.test.ts',
  'test/integration/alone/replication/games.test.ts',
]
