import { describe, expect, test } from 'vitest'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import type { OperationState } from '../../../../shared/model/operation.ts'
import type { Ports } from '../../../../shared/ports.ts'
import {
  beginOperation,
  createOperationStart,
  maintainOperation,
  maxExecutionsAtAge,
} from '../../../../shared/replication/operation/operate.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { operationWorkflows } from '../../../../shared/workers/operations.ts'
import { clusterItem } from '../../../builders/cluster-record.ts'
import { portsWith } from '../../../builders/ports.ts'
import { callWith } from '../../../support/requests/call.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const ID = '0c0ffee0-0000-4000-8000-000000000001'
const BEGUN = 1_000_000
const MINUTE = 60_000

const recordWith = (more: Partial<ClusterRecord> = {}) =>
  clusterItem({ id: 'c-1', name: 'west', mode: 'disabled', ...more })

const operationWith = (more: Partial<OperationState> = {}): Item<'operation'> =>
  item(
    key('operation', ID),
    {
      name: 'activation',
      status: 'running',
      step: 'wipe',
      startedAt: BEGUN,
      changedAt: BEGUN,
      ...more,
    } as OperationState,
    'o',
  )

/** Imitates Step Functions. Records started executions, some of which have ended. */
function machines(ended: readonly string[] = []) {
  const started: string[] = []
  const start: Ports['workflows']['start'] = async (name, id, before = 0) => {
    started.push(`${name} ${id} ${before}`)
    return ended.includes(`${before}`) ? 'ended' : 'runs'
  }
  return { started, workflows: { start } as Ports['workflows'] }
}

const at = (ms: number) => ({ now: () => ms, sleep: async () => undefined })

test.each([
  [0, 1],
  [59_999, 1],
  [MINUTE, 2],
  [2 * MINUTE, 3],
  [3 * MINUTE, 3],
  [4 * MINUTE, 4],
  [24 * 60 * MINUTE, 12],
])('an operation that began %i ms ago may have had %i executions', (age, count) => {
  expect(maxExecutionsAtAge(age)).toBe(count)
})

describe('maintaining the running operation', () => {
  test("maintenance starts the operation's workflow if the process died after the commit", async () => {
    const record = recordWith()
    const { store } = memoryStore([record])
    const operating = createOperationStart({ entropy: { bytes: () => Buffer.alloc(0), uuid: () => ID } })
    const dies = { start: () => Promise.reject(new Error('the process died')) }
    const call = callWith({
      ports: { store, workflows: dies },
      now: BEGUN,
      cluster: { record: record.data, readAt: BEGUN },
    })
    await expect(
      beginOperation(operating, record, { name: 'activation', step: 'handshake' }, call),
    ).rejects.toThrow('the process died')
    const { started, workflows } = machines()
    await maintainOperation({ store, clock: at(BEGUN + 1000), workflows })
    expect(started).toEqual([`activation ${ID} 0`])
  })

  test('maintenance starts the next execution after earlier executions ended, and none while one execution runs', async () => {
    const { store } = memoryStore([recordWith({ operation: ID }), operationWith()])
    const clock = at(BEGUN + 3 * MINUTE)
    const second = machines(['0'])
    await maintainOperation({ store, clock, workflows: second.workflows })
    expect(second.started).toEqual([`activation ${ID} 0`, `activation ${ID} 1`])
    const none = machines(['0', '1', '2'])
    await maintainOperation({ store, clock, workflows: none.workflows })
    expect(none.started).toHaveLength(3)
  })

  test('maintenance does nothing without an operation', async () => {
    const { started, workflows } = machines()
    await maintainOperation({ store: memoryStore([recordWith()]).store, clock: at(BEGUN), workflows })
    await maintainOperation({ store: memoryStore([]).store, clock: at(BEGUN), workflows })
    expect(started).toEqual([])
  })
})

describe('the failure handler of an operation that the record still contains', () => {
  test.each([
    [
      'removes a finished activation from the record',
      { mode: 'disabled' },
      'failed',
      { mode: 'disabled', failedOperation: ID },
    ],
    [
      'makes a closed cluster serve again',
      { mode: 'bootstrapping' },
      'failed',
      { mode: 'disabled', failedOperation: ID },
    ],
    [
      'keeps a wipe running, because it cannot be undone',
      { mode: 'bootstrapping', treeId: ID },
      'running',
      { mode: 'bootstrapping', treeId: ID, operation: ID },
    ],
  ] as const)('%s', async (_, more, status, expected) => {
    const { store, stored } = memoryStore([
      recordWith({ ...more, operation: ID }),
      operationWith({ status: 'failed' }),
    ])
    const run = {
      ports: portsWith({ store, clock: at(BEGUN) }),
      connect: () => expect.unreachable(),
      deadline: 0,
    }
    await expect(operationWorkflows.activation.steps.handshake(run, ID)).rejects.toMatchObject({
      name: 'OperationFailed',
    })
    await operationWorkflows.activation.failed(run, ID, { code: 'internal', text: 'the operation has ended' })
    const [record, operation] = stored.all()
    expect(record?.data).toEqual({ ...recordWith(expected).data })
    expect(operation?.data).toMatchObject({ status })
  })
})
