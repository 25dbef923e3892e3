import { expect, test } from 'vitest'
import type { ClusterMode, ClusterRecord } from '../../../../shared/model/cluster.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import {
  awaitAllAcknowledged,
  listSecondariesBehind,
} from '../../../../shared/replication/status/acknowledged.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const EPOCH = '000001.aaaaaaaaaaaa'
const NOW = 1_000_000
const at = { epoch: EPOCH, seq: 40 }
const secondary = (contact?: { at: number; epoch: string; seq: number }) =>
  ({ id: 'west', createdAt: 0, epoch: EPOCH, heartbeat: contact }) as Secondary

test.each<[name: string, one: Secondary, waits: boolean]>([
  ['has acknowledged the position', secondary({ at: NOW - 1, epoch: EPOCH, seq: 40 }), false],
  ['has acknowledged an earlier position', secondary({ at: NOW - 1, epoch: EPOCH, seq: 39 }), true],
  ['follows another epoch', secondary({ at: NOW - 1, epoch: '000000.b', seq: 99 }), true],
  ['is disconnected', secondary({ at: NOW - 30_000, epoch: EPOCH, seq: 1 }), false],
  ['has never connected', secondary(), false],
])('the primary waits for a secondary that %s: $2', (_, one, waits) => {
  expect(listSecondariesBehind([one], at, NOW)).toEqual(waits ? [one] : [])
})

/**
 * Returns the ports of a primary, or of another cluster, whose secondary acknowledges one more position each
 * time the code waits.
 */
function portsWith(mode: ClusterMode, seqs: number[]) {
  let now = NOW
  const { store, stored } = memoryStore([
    item(key('cluster'), { mode, epoch: EPOCH, keyringEdition: 1 } as ClusterRecord),
  ])
  const report = () => {
    const contact = { at: now, epoch: EPOCH, seq: seqs.shift() ?? 0 }
    stored.put(item(key('secondary', 'west'), secondary(contact)))
  }
  report()
  return {
    store,
    journalView: {
      readStatus: async () => ({ head: { epoch: at.epoch, last: at.seq, lineage: [[EPOCH, 1]] } }),
    } as never,
    clock: {
      now: () => now,
      sleep: async (ms: number) => {
        now += ms
        report()
      },
    },
  }
}

test('the wait ends after the given patience, and only a primary waits', async () => {
  expect(await awaitAllAcknowledged(portsWith('primary', [38, 39, 40]), 5000)).toBe(true)
  expect(await awaitAllAcknowledged(portsWith('primary', [38, 39, 40]), 500)).toBe(false)
  expect(await awaitAllAcknowledged(portsWith('disabled', [0]), 0)).toBe(true)
})
