import { defineConfig } from 'vitest/config'

const root = new URL('../', import.meta.url).pathname

/**
 * Tests of the console page in a real browser with two clusters of a set. These tests need chromium, and fail
 * without it.
 */
export default defineConfig({
  root,
  test: {
    name: 'page',
    include: ['test/page/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    globalSetup: './test/support/runner/bundled.ts',
    reporters: ['verbose'],
    testTimeout: 240_000,
    hookTimeout: 300_000,
  },
})
