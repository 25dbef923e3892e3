import { expect, test } from 'vitest'
import type { Puller } from '../../../../shared/model/secondary.ts'
import { secondaryState } from '../../../../shared/replication/secondary/state.ts'

const NOW = 1_000_000
const told: Puller = { holder: 'x', until: NOW + 5, state: 'stream-wals', synced: 7 }

test('the state of a secondary follows from its journal and from what its last run told', () => {
  const rows = [
    ['nothing yet', undefined, undefined, true, { state: 'idle' }],
    ['streaming', 'applying', told, true, { state: 'stream-wals' }],
    ['before the first run', 'applying', undefined, true, { state: 'stream-wals' }],
    ['draining', 'draining', told, true, { state: 'merkle-diff' }],
    ['syncing', 'syncing', told, true, { state: 'merkle-sync', synced: 7 }],
    ['syncing, before the first page', 'syncing', undefined, true, { state: 'merkle-sync', synced: 0 }],
    ['without a primary', 'applying', told, false, { state: 'idle' }],
    ['demoted', 'closed', told, false, { state: 'idle' }],
    ['a primary', 'writing', undefined, false, { state: 'idle' }],
    ['stopped', 'applying', { ...told, fault: 'why' }, true, { state: 'idle', fault: 'why' }],
    ['nobody runs', 'applying', { ...told, until: NOW - 90_001 }, true, { state: 'idle' }],
  ] as const
  for (const [title, mode, run, link, expected] of rows)
    expect(secondaryState(mode && { mode }, run, link, NOW), title).toEqual(expected)
})
