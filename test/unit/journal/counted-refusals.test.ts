import { expect, test } from 'vitest'
import {
  countRefusal,
  logRefusalCounts,
  REFUSED_BY_LINK,
  REFUSED_BY_ROLE,
} from '../../../shared/journal/counted-refusals.ts'
import type { EnvironmentMemory } from '../../../shared/ports.ts'

/** An environment whose clock the test sets. */
function environment() {
  const entries: unknown[] = []
  const memory: EnvironmentMemory = {}
  const clock = { ms: 1_000_000_000_000 }
  const ports = {
    memory,
    clock: { now: () => clock.ms, sleep: async () => undefined },
    audit: { write: async (entry: object) => void entries.push(entry) },
  }
  return { ports, entries, clock }
}

test('the first refusal is logged at once, and refusals of the next ten seconds in one entry', async () => {
  const { ports, entries, clock } = environment()
  await countRefusal(REFUSED_BY_ROLE, 'GET /a', ports)
  expect(entries).toEqual([
    {
      audit: 'refusals',
      time: '2001-09-09T01:46:40Z',
      reason: { why: 'cluster-role' },
      counts: { 'GET /a': 1 },
    },
  ])
  for (let n = 0; n < 5; n++) await countRefusal(REFUSED_BY_ROLE, 'GET /a', ports)
  await countRefusal(REFUSED_BY_ROLE, 'no endpoint', ports)
  clock.ms += 9_999
  await logRefusalCounts(ports)
  expect(entries).toHaveLength(1)
  clock.ms += 1
  await logRefusalCounts(ports)
  expect(entries[1]).toEqual({
    audit: 'refusals',
    time: '2001-09-09T01:46:50Z',
    after: '2001-09-09T01:46:40Z',
    reason: { why: 'cluster-role' },
    counts: { 'GET /a': 5, 'no endpoint': 1 },
  })
})

test('no entry is written without refusals', async () => {
  const { ports, entries, clock } = environment()
  await logRefusalCounts(ports)
  await countRefusal(REFUSED_BY_ROLE, 'GET /a', ports)
  clock.ms += 60_000
  await logRefusalCounts(ports)
  expect(entries).toHaveLength(1)
})

test('refusals during the write of an entry are counted in the next entry', async () => {
  const { ports, entries, clock } = environment()
  let late: Promise<void> | undefined
  const write = ports.audit.write
  ports.audit.write = async entry => {
    late ??= countRefusal(REFUSED_BY_ROLE, 'GET /b', ports)
    await write(entry)
  }
  await countRefusal(REFUSED_BY_ROLE, 'GET /a', ports)
  await late
  clock.ms += 10_000
  await logRefusalCounts(ports)
  expect(entries.map(entry => (entry as { counts: unknown }).counts)).toEqual([
    { 'GET /a': 1 },
    { 'GET /b': 1 },
  ])
})

test('refusals of different reasons have separate entries', async () => {
  const { ports, entries } = environment()
  await countRefusal(REFUSED_BY_ROLE, 'GET /a', ports)
  await countRefusal(REFUSED_BY_LINK, 'Fence permission_denied', ports)
  expect(entries.map(entry => (entry as { reason: unknown }).reason)).toEqual([
    { why: 'cluster-role' },
    { why: 'link' },
  ])
})
