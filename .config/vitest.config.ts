import { defineConfig } from 'vitest/config'

const root = new URL('..', import.meta.url).pathname
const host = './test/support/running-host.ts'

/** Tests that talk to a host share its processors and its background work; what is broken fails twice. */
const AGAIN = 1

const alone = (kind: string) => ({
  extends: true as const,
  test: {
    name: `integration-${kind}`,
    include: [`test/integration/**/*.${kind}.test.ts`],
    globalSetup: host,
    fileParallelism: false,
    retry: AGAIN,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})

export default defineConfig({
  root,
  test: {
    // most of a test of the host is waiting for it
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], pool: 'threads', isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'infra',
          include: ['test/infra/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: ['test/integration/**/*.{serial,jobs}.test.ts'],
          globalSetup: host,
          retry: AGAIN,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      // What disturbs a whole host, or must be alone on one: faults of the tables, counted calls, crashes.
      alone('serial'),
      // What the hourly round does: on a host of its own, which has few mounts.
      alone('jobs'),
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          retry: AGAIN,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
