import { describe, expect, test } from 'vitest'
import { type Worker, workerOn } from '../../../support/requests/workers.ts'
import { done, freshMount, storage } from '../../../support/service/cluster.ts'

async function operationsOf(worker: Worker): Promise<string[]> {
  await storage.reset()
  await worker.login()
  return (await storage.calls()).map(call => call.operation).filter(one => one !== 'BatchGetItem')
}

describe('a login writes the entity alias only when the alias changes', () => {
  test.each([
    ['service', 'TransactWriteItems', ['PutItem']],
    ['batch', 'TransactWriteItems', []],
  ])('of %s tokens', async (type, first, later) => {
    const { path } = await freshMount()
    const worker = await workerOn(path, { token_type: type })
    expect(await operationsOf(worker)).toEqual([first])
    expect(await operationsOf(worker)).toEqual(later)
    await done('POST', `${path}/config/identity`, { iam_metadata: ['canonical_arn'] })
    // a separate PutItem updates the alias, so that the token does not depend on an item that many logins
    // share
    expect(await operationsOf(worker)).toEqual([...later, 'PutItem'])
    expect(await operationsOf(worker)).toEqual(later)
  })
})
