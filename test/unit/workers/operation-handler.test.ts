import type { Context } from 'aws-lambda'
import { beforeEach, expect, test } from 'vitest'
import type { OperationState } from '../../../shared/model/operation.ts'
import type { ItemStore } from '../../../shared/ports.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { createOperationHandler } from '../../../shared/workers/operations.ts'
import { clusterItem } from '../../builders/cluster-record.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'

const ID = '0c0ffee0-0000-4000-8000-000000000001'
const operation: Item<'operation'> = item(
  key('operation', ID),
  {
    name: 'activation',
    status: 'running',
    step: 'handshake',
    startedAt: 1,
    changedAt: 1,
  } as OperationState,
  'o',
)
const record = clusterItem({ id: 'c-1', name: 'west', mode: 'disabled', operation: ID })

const lines: unknown[] = []
const log = {
  info: () => undefined,
  warn: (...line: unknown[]) => void lines.push(['warn', ...line]),
  error: (...line: unknown[]) => void lines.push(['error', ...line]),
}
const event = { workflow: 'activation', operation: ID, step: 'wipe' }
const context = { getRemainingTimeInMillis: () => 60_000 } as Context
const portsAround = (store: Partial<ItemStore>) =>
  portsWith({
    store,
    log,
    clock: { now: () => 5 },
    meter: { measure: (work: () => Promise<unknown>) => work() },
  })
const nobody = () => {
  throw new Error('nobody is asked')
}

beforeEach(() => void lines.splice(0))

test('an unexpected failure of a step logs its cause, the operation and the step', async () => {
  const cause = Object.assign(new Error('not authorized'), { name: 'AccessDeniedException' })
  const read = () => Promise.reject(new Error('the tables did not answer', { cause }))
  await expect(createOperationHandler(portsAround({ read }), nobody)(event, context)).rejects.toThrow(
    'the tables',
  )
  const reason = ['the tables did not answer', 'not authorized']
  expect(lines).toEqual([['error', 'step failed', { ...event, error: 'Error', reason }]])
})

test('the state machine’s error of a failed step is stored as a text in the operation', async () => {
  const { store, commits } = memoryStore([operation, record])
  const told = { error: 'ApiError', cause: '{"errorMessage":"the storage is busy"}' }
  await createOperationHandler(portsAround(store), nobody)(
    { ...event, step: 'failed', at: 'wipe', ...told },
    context,
  )
  expect(commits.flat().map(change => 'data' in change && change.data)).toContainEqual(
    expect.objectContaining({
      fault: {
        code: 'internal',
        text: expect.stringMatching(
          /^the step wipe failed in every attempt: the storage is busy \(ApiError\); /,
        ),
      },
    }),
  )
})

test('the text of a permanent failure is stored in the operation; the state machine gets the error’s name', async () => {
  const { store, commits } = memoryStore([operation, record])
  const handler = createOperationHandler(portsAround(store), nobody)
  // the step `wipe` runs before the journal was closed
  await expect(handler(event, context)).rejects.toMatchObject({ name: 'OperationFailed' })
  expect(commits.flat().map(change => 'data' in change && change.data)).toEqual([
    expect.objectContaining({
      status: 'failed',
      fault: {
        code: 'busy',
        text: expect.stringContaining('another role change of this cluster is under way; '),
      },
    }),
    expect.not.objectContaining({ operation: ID }),
  ])
  const text = expect.stringContaining('another role change of this cluster is under way; ')
  expect(lines).toEqual([['warn', 'step failed', { ...event, error: 'OperationFailed', reason: [text] }]])
})
