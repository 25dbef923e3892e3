import { defineConfig } from 'vitest/config'
import { TEST_HUNG_MS } from '../test/support/programs/patience.ts'
import LongestFirst from './order.ts'
import { SAMPLED, SIZED } from './sampled.ts'

const root = new URL('../', import.meta.url).pathname

// `npm test` runs Node with `--single-threaded-gc`: helper threads of V8 that collect garbage for each worker take a seventh
// of all processor time where workers outnumber processors.

// processes that tests start load what others have compiled: a command takes 0.2 s of processor time instead of 0.5 s
process.env['NODE_COMPILE_CACHE'] ??= `${root}.build/compile-cache`

/** What only computes, after all else: one worker for each of two processors, as every worker loads all of the product. */
const computing = { maxWorkers: 2, sequence: { groupOrder: 1 } }

export default defineConfig({
  root,
  test: {
    pool: 'threads',
    // most of a test of a service is waiting for its engine
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    reporters: [
      'default',
      `${root}.config/slowest.ts`,
      `${root}.config/grants.ts`,
      `${root}.config/answers.ts`,
    ],
    // a loaded machine makes a short test long; what hangs is still found
    testTimeout: 20_000,
    // a project's own come besides, where both are lists
    setupFiles: ['./test/support/runner/seed.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false, ...computing },
      },
      {
        // The whole service in the test's own process: files of a worker share one, but for those in `alone/`.
        extends: true,
        test: {
          name: 'integration',
          ...(process.env['SAMPLED'] === 'true'
            ? { include: [...SAMPLED, ...SIZED] }
            : { include: ['test/integration/**/*.test.ts'], exclude: [...SAMPLED] }),
          globalSetup: './test/support/runner/running-engine.ts',
          isolate: false,
          setupFiles: ['./test/support/runner/afresh.ts', './test/support/runner/answers.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Storage and logins once more, where AWS's SDK makes all calls to the tables (the setting `tablesClient`).
        extends: true,
        test: {
          name: 'integration-sdk',
          include: ['test/integration/alone/storage/*.test.ts', 'test/integration/login/{ec2,iam}.test.ts'],
          env: { TABLES_CLIENT: 'sdk' },
          globalSetup: './test/support/runner/running-engine.ts',
          isolate: false,
          ...computing,
          setupFiles: ['./test/support/runner/afresh.ts', './test/support/runner/answers.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // The imitated AWS, and the adapters that call it.
        extends: true,
        test: {
          name: 'provider',
          include: ['test/{provider,adapters}/**/*.test.ts'],
          isolate: false,
          ...computing,
        },
      },
      {
        // What only the embedded host has: gateway, sockets, threads.
        extends: true,
        test: {
          name: 'host',
          include: ['test/host/**/*.test.ts'],
          globalSetup: './test/support/runner/running-host.ts',
          setupFiles: ['./test/support/runner/answers.ts'],
          isolate: false,
          testTimeout: TEST_HUNG_MS,
          hookTimeout: TEST_HUNG_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'infra',
          include: ['test/infra/**/*.test.ts'],
          pool: 'forks',
          // a synthesis checks templates by rules in WebAssembly: to compile all of them well takes longer than to run them
          execArgv: ['--single-threaded-gc', '--liftoff-only', '--wasm-lazy-compilation'],
          isolate: false,
          ...computing,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
