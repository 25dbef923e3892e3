import { defineConfig } from 'vitest/config'
import { TEST_HUNG_MS } from '../test/support/programs/patience.ts'

/** Tests that run only with LONG=true. */
const LONG = 'test/deployed/long/**/*.test.ts'

const root = new URL('../', import.meta.url).pathname

/**
 * Tests of a deployment into an emulated AWS account. These tests need Python and a package index, and fail
 * without them.
 */
export default defineConfig({
  root,
  test: {
    name: 'deployed',
    ...(process.env['LONG'] === 'true'
      ? { include: [LONG] }
      : { include: ['test/deployed/**/*.test.ts'], exclude: [LONG] }),
    globalSetup: './test/deployed/setup.ts',
    pool: 'forks',
    maxWorkers: 1,
    reporters: ['verbose'],
    testTimeout: TEST_HUNG_MS,
    hookTimeout: TEST_HUNG_MS,
  },
})
