import { existsSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEngineClient, type LocalEngine, startEngine } from '../../infra/local/engine/engine.ts'
import { makeTemporaryDirectory } from '../../infra/local/os/temporary.ts'
import { cleanUp, folderOf, foreignKeys, freshCluster, startIn } from '../support/programs/npm-start.ts'

// Runs `--once` for several clusters on one external engine. DynamoDB Local separates tables by access key,
// so the test records the keys.

const credentials = { accessKeyId: 'none', secretAccessKey: 'none' }
const directory = makeTemporaryDirectory()
/** access keys of the requests that named a table, by table */
const keys = new Map<string, Set<string>>()
let engine: LocalEngine
let url = ''

beforeAll(async () => {
  engine = await startEngine({ directory, tables: [], region: 'us-east-1', credentials })
  const front = createServer(async (incoming, response) => {
    const body = await buffer(incoming)
    const key = /Credential=([^/]+)/.exec(incoming.headers.authorization ?? '')?.[1] ?? ''
    for (const [, table = ''] of body.toString().matchAll(/"([\w.-]*cloud-auth-[\w.-]+)"/g))
      keys.set(table, (keys.get(table) ?? new Set()).add(key))
    const { method, headers } = incoming
    const onward = request(engine.url, { method, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.end(body)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => front.once('listening', resolve))
  url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  return () => front.close()
})
afterAll(async () => {
  cleanUp()
  await engine.close()
  rmSync(directory, { recursive: true, force: true })
})

const tables = async (): Promise<string[]> => {
  const { TableNames = [] } = await createEngineClient(url, 'us-east-1', credentials).send(
    new ListTablesCommand({}),
  )
  return TableNames.sort()
}

const [east, west] = [freshCluster('east'), freshCluster('west')]
let outputs: string[] = []

test('npm start -- --once exits with 0 with any AWS keys in the environment', async () => {
  keys.clear()
  const given = { DYNAMODB_ENDPOINT: url, ...foreignKeys }
  const runs = [
    startIn(given, '--once', '--cluster', east, '--port', '0'),
    startIn(given, '--once', '--memory', '--cluster', west, '--port', '0'),
  ]
  for (const run of runs) expect(await run.ended, run.output()).toBe(0)
  outputs = runs.map(run => run.output())
  expect(existsSync(folderOf(west)), 'nothing is left of a cluster in memory').toBe(false)
})

test('npm start -- --once prints a login of each type with its cost', () => {
  expect(outputs).toHaveLength(2)
  for (const output of outputs) {
    expect(output).toMatch(
      /ec2 login: a token for role demo-ec2[\s\S]*policies {2}default, demo[\s\S]*TTL {7}1800 s/,
    )
    expect(output).toMatch(/metadata {2}role=demo-ec2 .*auth_type=ec2/)
    expect(output).toMatch(/calls {5}.*1 × EC2; \d round trips to DynamoDB\n {2}took {6}\d+ ms/)
    expect(output).toMatch(
      /iam login: a token for role demo-iam[\s\S]*calls {5}1 × STS; \d round trips to DynamoDB/,
    )
  }
})

test('each cluster has its own tables in the external engine under its own key, and the in-memory cluster deletes them', async () => {
  const of = (cluster: string) => [...keys.keys()].filter(name => name.startsWith(`${cluster}-`)).sort()
  // an in-memory cluster prefixes its tables with a name for each run
  expect(of(west).map(name => name.replace(/^.*?(?=cloud-auth)/, ''))).toEqual(
    of(east).map(name => name.slice(`${east}-`.length)),
  )
  expect(await tables()).toEqual(of(east))
  const users = [...of(east), ...of(west)].map(name => [...(keys.get(name) ?? [])].join())
  expect(new Set(users).size).toBe(2)
  for (const user of users) expect(user).toMatch(/^AKIA[A-Z0-9]{16}$/)
})
