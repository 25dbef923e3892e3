import { defineConfig } from 'vitest/config'
import { TEST_HUNG_MS } from '../test/support/programs/patience.ts'
import LongestFirst from './order.ts'

const root = new URL('../', import.meta.url).pathname

/** Tests of processes: `npm start`, foreign clients, the examples of the pages, kills. Some take minutes. */
export default defineConfig({
  root,
  test: {
    name: 'e2e',
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: './test/support/runner/bundled.ts',
    setupFiles: ['./test/support/runner/seed.ts'],
    pool: 'forks',
    // each file mostly waits for its own processes
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', `${root}.config/slowest.ts`],
    testTimeout: TEST_HUNG_MS,
    hookTimeout: TEST_HUNG_MS,
  },
})
