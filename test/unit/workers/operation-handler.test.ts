import type { Context } from 'aws-lambda'
import { expect, test } from 'vitest'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { OperationState } from '../../../shared/model/operation.ts'
import type { Ports } from '../../../shared/ports.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { operationHandler } from '../../../shared/workers/operations.ts'
import { memoryStore } from '../support/memory-store.ts'

const ID = '0c0ffee0-0000-4000-8000-000000000001'
const operation: Item<'operation'> = {
  ...key('operation', ID),
  rev: 'o',
  data: {
    name: 'activation',
    status: 'running',
    step: 'handshake',
    startedAt: 1,
    changedAt: 1,
  } as OperationState,
}
const record: Item<'cluster'> = {
  ...key('cluster'),
  rev: 'r',
  data: {
    ...{ id: 'c-1', name: 'west', mode: 'disabled', keyring: 'k', term: 1, initialisedAt: 0 },
    operation: ID,
  } as ClusterRecord,
}

test('the text of a step that fails for good is kept with its operation; the machine learns the name of the error', async () => {
  const { store, commits } = memoryStore([operation, record], [])
  const ports = {
    store,
    clock: { now: () => 5 },
    meter: { measured: (work: () => Promise<unknown>) => work() },
  } as unknown as Ports
  const handler = operationHandler(ports, () => {
    throw new Error('nobody is asked')
  })
  const context = { getRemainingTimeInMillis: () => 60_000 } as Context
  // `wipe` before anything was closed
  const event = { workflow: 'activation', operation: ID, step: 'wipe' }
  await expect(handler(event, context)).rejects.toMatchObject({ name: 'OperationFailed' })
  expect(commits.flat().map(change => 'data' in change && change.data)).toEqual([
    expect.objectContaining({
      status: 'failed',
      fault: {
        code: 'busy',
        text: expect.stringContaining('another change of the role of this cluster is under way; '),
      },
    }),
    expect.not.objectContaining({ operation: ID }),
  ])
})
