import { defineConfig } from 'vitest/config'

const root = new URL('../', import.meta.url).pathname

/** An hour for a test, and for a hook: they take minutes where nobody else wants the machine. */
const PATIENCE = 3_600_000

/** What takes minutes: tests of their own, and those of `npm test` that take larger sizes here (`sized`). */
export default defineConfig({
  root,
  test: {
    name: 'long',
    include: [
      'test/long/**/*.test.ts',
      'test/e2e/roles.test.ts',
      'test/unit/adapters/aws/wire/calls.test.ts',
      'test/unit/adapters/aws/wire/tables.test.ts',
      'test/unit/link/serve/chaos.test.ts',
      'test/integration/replication/conflicts.alone.test.ts',
      'test/integration/replication/deaths.alone.test.ts',
      'test/integration/replication/disable.alone.test.ts',
      'test/integration/replication/enable.alone.test.ts',
      'test/integration/replication/games.alone.test.ts',
      'test/integration/replication/late.alone.test.ts',
      'test/integration/replication/reindex.alone.test.ts',
      'test/integration/replication/requests.alone.test.ts',
    ],
    pool: 'threads',
    // one after the other: each of them takes the whole machine
    maxWorkers: 1,
    env: { LONG: 'true' },
    globalSetup: ['./test/support/running-engine.ts', './test/support/bundled.ts'],
    reporters: ['verbose', `${root}.config/slowest.ts`],
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
  },
})
