import { expect, test } from 'vitest'
import type { OperationName, OperationState } from '../../../../shared/model/operation.ts'
import { replaceWaitingOperation } from '../../../../shared/replication/operation/giving-way.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { workflowDefinitions } from '../../../../shared/workers/workflows.ts'
import { portsWith } from '../../../builders/ports.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const ID = '0c0ffee0-0000-4000-8000-000000000001'

/** Returns the changes that end an operation in a given state so that another operation can begin. */
function madeWay(state: Partial<OperationState> | undefined, to: OperationName) {
  const data: OperationState = {
    name: 'promotion',
    status: 'running',
    step: 'drain',
    startedAt: 1,
    changedAt: 1,
    ...state,
  }
  const item: Item<'operation'> | undefined = state && { ...key('operation', ID), rev: 'r', data }
  const ports = portsWith({
    store: memoryStore(item ? [item] : []).as('replication'),
    clock: { now: () => 7 },
    log: { info: () => undefined },
  })
  return replaceWaitingOperation(ID, to, ports)
}

const asked = ['promotion', 'update-primary', 'disable', 'demotion', 'activation'] as const
/** The operations that may replace another operation, by the name and step of the replaced operation. */
const making: Readonly<Record<string, readonly OperationName[]>> = {
  'promotion drain': ['promotion', 'update-primary', 'disable'],
  'update-primary find': ['promotion', 'update-primary', 'disable'],
  'activation sync': ['update-primary', 'disable'],
}
const steps = Object.entries(workflowDefinitions).flatMap(([name, workflow]) =>
  workflow.steps.flatMap(step =>
    typeof step === 'string' ? [[name as OperationName, step] as [OperationName, string]] : [],
  ),
)

test.each(steps)(
  'the operation %s in the step %s can be replaced only while the operation waits for another cluster',
  async (name, step) => {
    const ways = await Promise.all(asked.map(async to => ((await madeWay({ name, step }, to)) ? [to] : [])))
    expect(ways.flat()).toEqual(making[`${name} ${step}`] ?? [])
  },
)

test('a replaced operation ends in the commit that begins the new operation, with a text that names the new one', async () => {
  expect(await madeWay({}, 'update-primary')).toEqual([
    expect.objectContaining({
      data: expect.objectContaining({
        status: 'failed',
        changedAt: 7,
        fault: {
          code: 'passed_over',
          text: expect.stringMatching(/replaced this operation: update-primary; GET/),
        },
      }),
      expected: { rev: 'r' },
    }),
  ])
})

test('a replaced activation deletes the primary’s answer', async () => {
  const changes = await madeWay({ name: 'activation', step: 'sync' }, 'disable')
  expect(changes?.slice(1)).toEqual([expect.objectContaining({ kind: 'delete', key: key('pending-link') })])
})

test.each<[what: string, state: Partial<OperationState> | undefined]>([
  ['that does not exist', undefined],
  ['that has ended', { status: 'failed' }],
])('an operation %s cannot be replaced', async (_, state) => {
  expect(await madeWay(state, 'update-primary')).toBeUndefined()
})
