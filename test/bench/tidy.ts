import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Host } from '../../infra/local/host/host.ts'
import { HOME } from '../../infra/local/provider/home.ts'
import { key } from '../../shared/storage/kinds.ts'
import { entry } from '../support/requests/lists.ts'
import { call } from '../support/service/api.ts'
import { seed, tableStore, type Where } from '../support/tables/store.ts'
import { whereIs } from './where.ts'

/** What the removal of one entry took, microseconds. */
export interface TidyCost {
  entries: number
  own: number
  /** the same conditional deletions through the same SDK, as many at once, and nothing else */
  floor: number
  ratio: number
}

const AT_ONCE = 16
const FLOOR = 5000
const HOURS_AGO = 100

/** Removes so many expired entries of the access list by one run of tidy. */
export async function tidyCost(host: Host, entries: number): Promise<TidyCost> {
  const where = whereIs(host, 'tidy')
  const tables = tableStore(where)
  const floor = await deleteEach(where, await seeded('floor', Math.min(FLOOR, entries)))
  const api = (method: string, path: string) =>
    call(host.base_url, method, path, undefined, { token: host.root_token })
  const accessor = String((await api('GET', '/sys/auth/cloud')).body.data.accessor)
  await seeded(accessor, entries)
  const started = performance.now()
  await api('POST', '/auth/cloud/tidy/identity-accesslist')
  for (let removed = 0; removed < entries; ) {
    await setTimeout(100)
    const { identity_accesslist: list } = (await api('GET', '/auth/cloud/tidy-status')).body.data
    removed = list.removed
    if (list.last_end !== null && removed < entries) throw new Error(`only ${removed} entries were removed`)
  }
  const own = ((performance.now() - started) * 1000) / entries
  return { entries, own, floor, ratio: own / floor }

  async function seeded(owner: string, count: number): Promise<string[]> {
    const names = Array.from({ length: count }, () => `i-${randomUUID()}`)
    await seed(
      tables,
      names.map(name => entry('access', owner, name, HOURS_AGO)),
    )
    return names
  }
}

async function deleteEach(
  { engine_url: endpoint, tables, credentials }: Where,
  names: string[],
): Promise<number> {
  const client = DynamoDBDocumentClient.from(
    new DynamoDBClient({ endpoint, region: HOME.region, credentials }),
  )
  const started = performance.now()
  for (let at = 0; at < names.length; at += AT_ONCE) {
    await Promise.all(
      names.slice(at, at + AT_ONCE).map(name => {
        const { pk, sk } = key('access', 'floor', name)
        const place = { TableName: tables.data, Key: { pk, sk } }
        return client.send(new DeleteCommand({ ...place, ConditionExpression: 'attribute_exists(pk)' }))
      }),
    )
  }
  return ((performance.now() - started) * 1000) / names.length
}
