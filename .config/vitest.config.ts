import { defineConfig } from 'vitest/config'
import { TEST_HUNG_MS } from '../test/support/programs/patience.ts'
import LongestFirst from './order.ts'
import { SLOW } from './slow.ts'

const root = new URL('../', import.meta.url).pathname

// `npm test` runs Node with `--single-threaded-gc`, because V8's helper threads for garbage collection would take a
// seventh of the CPU time if workers outnumber cores.

// processes started by tests share a compile cache: a command takes 0.2 s of CPU time instead of 0.5 s
process.env['NODE_COMPILE_CACHE'] ??= `${root}.build/compile-cache`

/**
 * Test projects that only compute run last, with two workers, because every worker loads the whole product.
 */
const computing = { maxWorkers: 2, sequence: { groupOrder: 1 } }

export default defineConfig({
  root,
  test: {
    pool: 'threads',
    // a service test mostly waits for its engine
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    reporters: [
      'default',
      `${root}.config/slowest.ts`,
      `${root}.config/grants.ts`,
      `${root}.config/answers.ts`,
    ],
    // the time limit is generous, because a loaded machine slows short tests; hanging tests are still found
    testTimeout: 20_000,
    // lists of a project are added to this list
    setupFiles: ['./test/support/runner/seed.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false, ...computing },
      },
      {
        // Tests of the whole service in the test's process. Test files of a worker share the service, except
        // files in `alone/`.
        extends: true,
        test: {
          name: 'integration',
          ...(process.env['SLOW'] === 'true'
            ? { include: [...SLOW] }
            : { include: ['test/integration/**/*.test.ts'], exclude: [...SLOW] }),
          globalSetup: './test/support/runner/running-engine.ts',
          isolate: false,
          setupFiles: ['./test/support/runner/afresh.ts', './test/support/runner/answers.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Storage and login tests again, with all table calls through AWS's SDK (the setting `tablesClient`).
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
        // Tests of the imitated AWS, and of the adapters that call it.
        extends: true,
        test: {
          name: 'provider',
          include: ['test/{provider,adapters}/**/*.test.ts'],
          isolate: false,
          ...computing,
        },
      },
      {
        // Tests of the embedded host: gateway, sockets, threads.
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
          // compiles WebAssembly lazily, because compiling all rules of the synthesis takes longer than
          // running them
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
