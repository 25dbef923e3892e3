import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { BatchWriteItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, expect, test } from 'vitest'
import { createEngineClient, startEngine } from '../../infra/local/engine/engine.ts'
import { startExpirySweeper } from '../../infra/local/engine/sweeper.ts'
import { createDocumentSend } from '../../shared/adapters/aws/sdk-tables.ts'

const directory = mkdtempSync(`${tmpdir()}/cloud-auth-sweeper-`)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

test('the sweeper deletes expired items, a hundred per page, with a pause after each page', async () => {
  const name = 'swept'
  const attribute = (of: string) => ({ AttributeName: of, AttributeType: 'S' })
  const table = {
    name,
    ttl: 'ttl',
    attributes: [attribute('pk'), attribute('sk')],
    indexes: [],
    keySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
  }
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const region = 'us-east-1'
  const { url, client, close } = await startEngine({ directory, region, credentials, tables: [table] })
  const now = Math.floor(Date.now() / 1000)
  // one third of the items has expired, one third expires later, one third never
  const items = Array.from({ length: 250 }, (_, index) => ({
    pk: { S: `p${index}` },
    sk: { S: 's' },
    ...(index % 3 === 2 ? {} : { ttl: { N: String(index % 3 === 0 ? now - 60 : now + 3600) } }),
  }))
  for (let at = 0; at < items.length; at += 25) {
    const requests = items.slice(at, at + 25).map(Item => ({ PutRequest: { Item } }))
    await client.send(new BatchWriteItemCommand({ RequestItems: { [name]: requests } }))
  }
  const read: number[] = []
  const send = createDocumentSend(() => {
    const watched = createEngineClient(url, region, credentials)
    watched.middlewareStack.add(
      next => async args => {
        const answer = await next(args)
        const { ScannedCount } = answer.output as { ScannedCount?: number }
        if (ScannedCount !== undefined) read.push(ScannedCount)
        return answer
      },
      { step: 'initialize', priority: 'high' },
    )
    return watched
  })
  const sweeper = startExpirySweeper(send, [table])
  const pauses: number[] = []
  const removed = await sweeper.sweep(async worked => void pauses.push(worked))
  sweeper.close()
  const { Items = [] } = await client.send(new ScanCommand({ TableName: name }))
  await close()
  expect(removed).toBe(84)
  expect(Items.map(({ pk }) => pk?.S).sort()).toEqual(
    items.flatMap(({ pk }, index) => (index % 3 === 0 ? [] : pk.S)).sort(),
  )
  expect(read.slice(0, 3)).toEqual([100, 100, 50])
  expect(pauses).toHaveLength(3)
  expect(pauses.every(worked => worked > 0)).toBe(true)
})
