import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import type { OperationState } from '../../../../shared/model/operation.ts'
import { demotePrimary } from '../../../../shared/replication/handlers/promote.ts'
import type { Item } from '../../../../shared/storage/kinds.ts'
import { clusterItem } from '../../../builders/cluster-record.ts'
import { callWith, fetchedItems } from '../../../support/requests/call.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const NOW = 1_700_000_000_000

/** @param becomes the operation's state after the first poll */
function world(parts: Partial<ClusterRecord>, becomes: Partial<OperationState> = {}) {
  const record = clusterItem({ id: 'c-1', name: 'east', ...parts })
  const { store, as, commits } = memoryStore([record])
  const started: string[] = []
  const clock = { ms: NOW }
  const sleep = async (ms: number): Promise<void> => {
    clock.ms += ms
  }
  const read = async (keys: readonly { kind: string }[]) => {
    const [found] = (await store.read(keys as never)) as unknown as [Item<'operation'> | undefined]
    return [found?.kind === 'operation' ? { ...found, data: { ...found.data, ...becomes } } : found]
  }
  const fetched = fetchedItems()
  fetched.keep(record, record)
  const call = callWith({
    fetched,
    now: NOW,
    cluster: { record: record.data, readAt: NOW },
    ports: {
      store: { ...as('replication'), read },
      entropy: { uuid: randomUUID },
      clock: { now: () => clock.ms, sleep },
      journal: { head: async () => ({ mode: 'closed', last: 17, epoch: '000003.0123456789ab' }) },
      workflows: { start: async (name: string) => void started.push(name) },
    },
  }) as Call
  return { demote: () => demotePrimary(call), commits, started }
}

const codeAndText = (error: { code: string; message: string }) =>
  `${error.code}: ${error.message.replace(/[0-9a-f-]{36}/, '<id>')}`

describe('a demotion', () => {
  test('the demotion waits for its workflow, and returns the end of the journal', async () => {
    const { demote, commits, started } = world({}, { status: 'done' })
    const { answer, changes } = await demote()
    expect(answer).toEqual({
      kind: 'data',
      data: { final_wal: 17, epoch: '000003.0123456789ab' },
      warnings: [expect.stringContaining('has become a DR secondary')],
    })
    expect([changes, started, commits.length]).toEqual([undefined, ['demotion'], 1])
  })

  test('demoting a cluster that has already stepped down changes nothing, and returns the same answer', async () => {
    const { demote, commits, started } = world({ mode: 'secondary', epoch: '000003.0123456789ab' })
    expect((await demote()).answer).toEqual({
      kind: 'data',
      data: { final_wal: 17, epoch: '000003.0123456789ab' },
      warnings: [expect.stringContaining('already demoted')],
    })
    expect([started, commits]).toEqual([[], []])
  })

  test.each<[name: string, parts: Partial<ClusterRecord>, becomes: Partial<OperationState>, text: string]>([
    [
      'during another role change',
      { operation: 'o' },
      {},
      'busy: another role change of this cluster is under way; repeat the request when GET sys/replication/dr/status shows that the role change has ended',
    ],
    [
      'if the operation failed',
      {},
      { status: 'failed', fault: { code: 'busy', text: 'what is wrong; what to do' } },
      'busy: what is wrong; what to do',
    ],
    [
      'if it takes longer than a request may',
      {},
      {},
      'busy: the operation <id> (demotion) is still running, at the step close; GET sys/replication/dr/status shows the progress of the operation',
    ],
  ])('the demotion is refused %s', async (_, parts, becomes, text) => {
    expect(await world(parts, becomes).demote().catch(codeAndText)).toBe(text)
  })
})
