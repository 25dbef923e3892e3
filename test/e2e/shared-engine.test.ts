import { rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clientOf, type LocalEngine, startEngine } from '../../infra/local/engine.ts'
import { temporaryDirectory } from '../../infra/local/temporary.ts'
import { cleanUp, freshCluster, startIn } from '../support/npm-start.ts'

// One engine that somebody else has started, for several clusters. DynamoDB Local keeps what each access key has made
// apart, so the keys that come by are noted here.

const credentials = { accessKeyId: 'none', secretAccessKey: 'none' }
const directory = temporaryDirectory()
/** access keys that named a table, by the table */
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
  const { TableNames = [] } = await clientOf(url, 'us-east-1', credentials).send(new ListTablesCommand({}))
  return TableNames.sort()
}

test('an engine that the environment names gives each cluster tables of its own, made with a key of its functions, and keeps none of a cluster in memory that has ended', async () => {
  const [east, west] = [freshCluster('east'), freshCluster('west')]
  const given = { DYNAMODB_ENDPOINT: url }
  const runs = [
    startIn(given, '--once', '--cluster', east, '--port', '0'),
    startIn(given, '--once', '--memory', '--cluster', west, '--port', '0'),
  ]
  for (const run of runs) expect(await run.ended, run.output()).toBe(0)
  const of = (cluster: string) => [...keys.keys()].filter(name => name.startsWith(`${cluster}-`)).sort()
  // a cluster that keeps nothing has a name of its own in front, for each of its runs
  expect(of(west).map(name => name.replace(/^.*?(?=cloud-auth)/, ''))).toEqual(
    of(east).map(name => name.slice(`${east}-`.length)),
  )
  expect(await tables()).toEqual(of(east))
  const users = [...of(east), ...of(west)].map(name => [...(keys.get(name) ?? [])].join())
  expect(new Set(users).size).toBe(2)
  for (const user of users) expect(user).toMatch(/^AKIA[A-Z0-9]{16}$/)
})
