import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { ListTablesCommand, PutItemCommand, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, describe, expect, test } from 'vitest'
import { createEngineTables, type LocalEngine, startEngine } from '../../infra/local/engine/engine.ts'
import { launchEngineProcess } from '../../infra/local/engine/launch.ts'
import { closeServer, findFreePort, listenOnLoopback } from '../../infra/local/os/loopback.ts'

describe('the engine of a cluster', () => {
  const directory = mkdtempSync(`${tmpdir()}/cloud-auth-engine-`)
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const file = `${directory}/dynamodb.sqlite`

  test('tries the next port when another server has taken the first port', async () => {
    const other = createServer((_, response) => response.end('{}'))
    const ports = [Number(new URL(await listenOnLoopback(other)).port), await findFreePort()]
    const given = [...ports]
    const { url, stop } = await launchEngineProcess(directory, file, {
      portOf: async () => given.shift() ?? 0,
    })
    expect(Number(new URL(url).port)).toBe(ports[1])
    await stop()
    await closeServer(other)
    expect(readdirSync(directory)).not.toContain('engine.json')
  })

  test('finds the next page of a scan by an index instead of a full table scan', async () => {
    const name = 'scanned'
    const key = { AttributeName: 'pk', KeyType: 'HASH' }
    const engine = await startEngine({
      directory,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      tables: [
        { name, keySchema: [key], attributes: [{ AttributeName: 'pk', AttributeType: 'S' }], indexes: [] },
      ],
    })
    const names = Array.from({ length: 20 }, (_, index) => `item ${index}`)
    for (const pk of names)
      await engine.client.send(new PutItemCommand({ TableName: name, Item: { pk: { S: pk } } }))
    const found: (string | undefined)[] = []
    let from: Record<string, { S: string }> | undefined
    do {
      const command = new ScanCommand({ TableName: name, Limit: 7, ExclusiveStartKey: from })
      const { Items = [], LastEvaluatedKey } = await engine.client.send(command)
      found.push(...Items.map(({ pk }) => pk?.S))
      from = LastEvaluatedKey as typeof from
    } while (from)
    expect(found.sort()).toEqual(names.sort())
    await engine.close()
    const database = new DatabaseSync(file, { readOnly: true })
    const plan = database
      .prepare(`EXPLAIN QUERY PLAN SELECT item_json FROM "${name}" ORDER BY hash_prefix, pk, sk`)
      .all()
    database.close()
    expect(plan.map(({ detail }) => detail)).toEqual([`SCAN ${name} USING INDEX ${name}::scan_order`])
  })

  const named = (name: string) => ({
    name,
    keySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    attributes: [
      { AttributeName: 'pk', AttributeType: 'S' },
      { AttributeName: 'due', AttributeType: 'S' },
    ],
    indexes: [
      {
        IndexName: 'byDue',
        KeySchema: [{ AttributeName: 'due', KeyType: 'HASH' }],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
    stream: 'KEYS_ONLY' as const,
  })
  const at = (folder: string) => {
    mkdirSync(`${directory}/${folder}`, { recursive: true })
    return {
      directory: `${directory}/${folder}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    }
  }
  const put = (engine: LocalEngine, TableName: string, pk: string) =>
    engine.client.send(new PutItemCommand({ TableName, Item: { pk: { S: pk }, due: { S: 'now' } } }))
  const dueIn = async (engine: LocalEngine, TableName: string): Promise<(string | undefined)[]> => {
    const { Items = [] } = await engine.client.send(
      new QueryCommand({
        TableName,
        IndexName: 'byDue',
        KeyConditionExpression: 'due = :now',
        ExpressionAttributeValues: { ':now': { S: 'now' } },
      }),
    )
    return Items.map(({ pk }) => pk?.S).sort()
  }

  test('rejects listing and adding tables when their names are secret', async () => {
    for (const start of ['first', 'second']) {
      const engine = await startEngine({ ...at('closed'), secretNames: true, tables: [named('secret-one')] })
      await put(engine, 'secret-one', start)
      await expect(engine.client.send(new ListTablesCommand({})), start).rejects.toThrow()
      await expect(createEngineTables(engine.client, [named('mine')]), start).rejects.toThrow('private')
      await engine.close()
    }
    const tables = [named('secret-one'), named('secret-two')]
    const engine = await startEngine({ ...at('closed'), secretNames: true, tables })
    expect(await dueIn(engine, 'secret-one')).toEqual(['first', 'second'])
    await put(engine, 'secret-two', 'a later version has another table')
    await engine.close()
  })

  test('that does not start reports the reason', async () => {
    const none = launchEngineProcess(directory, `${directory}/none/dynamodb.sqlite`)
    await expect(none).rejects.toThrow(/^the DynamoDB engine does not start: .*\(code [1-9]\d*\)$/s)
    expect(readdirSync(directory)).not.toContain('engine.json')
  })
})
