import { defineConfig } from 'vitest/config'

const root = new URL('../', import.meta.url).pathname

/** Time limit of one hour for each test and hook, which take minutes on an idle machine. */
const PATIENCE = 3_600_000

/**
 * Tests that take minutes: long tests, and tests of `npm test` that use larger sizes in this configuration
 * (`sized`).
 */
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
      'test/integration/alone/login/web-function.test.ts',
      'test/integration/alone/replication/conflicts.test.ts',
      'test/integration/alone/replication/deaths.test.ts',
      'test/integration/alone/replication/disable.test.ts',
      'test/integration/alone/replication/enable.test.ts',
      'test/integration/alone/replication/games.test.ts',
      'test/integration/alone/replication/late.test.ts',
      'test/integration/alone/replication/reindex.test.ts',
      'test/integration/alone/replication/requests.test.ts',
      'test/integration/alone/replication/steps.test.ts',
      'test/integration/alone/replication/rivals.test.ts',
    ],
    pool: 'threads',
    // test files run one after the other, because each file uses the whole machine
    maxWorkers: 1,
    env: { LONG: 'true' },
    globalSetup: ['./test/support/runner/running-engine.ts', './test/support/runner/bundled.ts'],
    reporters: ['verbose', `${root}.config/slowest.ts`],
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
  },
})
