import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createCallMeter } from '../../../../shared/adapters/aws/system.ts'
import { createDynamoTables } from '../../../../shared/adapters/aws/table.ts'
import type { TableSend } from '../../../../shared/adapters/aws/wire/tables.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import { createItem, replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { HOME, launch, loginAs } from '../../../support/requests/logins.ts'
import { workerOn } from '../../../support/requests/workers.ts'
import { sized } from '../../../support/runner/size.ts'
import {
  cluster,
  done,
  fresh,
  freshMount,
  localCertificate,
  storage,
} from '../../../support/service/cluster.ts'
import { begun, differences, replayed, wrongSums } from '../../../support/service/journal.ts'
import { noBrokenHead } from '../../../support/tables/heads.ts'
import { sendTo, tableStore } from '../../../support/tables/store.ts'

// Overlapping transactions on one item cancel each other on DynamoDB. If every login wrote the same item, all
// logins would conflict.

const AT_ONCE = 64
const ROUNDS = sized(2, 16)
/**
 * The highest accepted share of transactions that conflict by chance. A round writes to about 200 of 65,536
 * buckets, so two transactions meet in about every fourth round. If every login wrote one shared item, more
 * than half of the logins would conflict.
 */
const BY_CHANCE = sized(0.05, 0.01)

const { store, journal, clock } = tableStore(cluster)
let record: ClusterRecord & { treeId: string }

/** Begins a journal in the tables of the service. */
beforeAll(async () => {
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('no record')
  record = { ...item.data, ...(await begun(journal)) }
  clock.ms = Date.now()
  expect(await store.commit([replaceItem(item, item, record)], { record: item.data, readAt: clock.ms })).toBe(
    'done',
  )
})

beforeEach(storage.reset)

/**
 * Sends many requests concurrently, and returns how many were refused, and the share of transactions that
 * conflicted.
 */
async function crowd(
  work: (index: number) => Promise<boolean>,
  rounds = ROUNDS,
): Promise<{ refused: number; conflicts: number }> {
  await storage.awsLike()
  const outcomes: boolean[] = []
  for (let round = 0; round < rounds; round++)
    outcomes.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => work(index)))))
  const calls = (await storage.calls()).filter(({ operation }) => operation === 'TransactWriteItems')
  await storage.reset()
  expect(calls.length).toBeGreaterThanOrEqual(outcomes.filter(Boolean).length)
  const conflicts = calls.filter(({ conflict }) => conflict).length / calls.length
  return { refused: outcomes.filter(done => !done).length, conflicts }
}

/** Checks that journal entries are dense and equal the stored items. */
async function isSound(): Promise<void> {
  const { holes, torn } = await replayed(journal)
  expect({ holes, torn }).toEqual({ holes: [], torn: [] })
  // items from before the journal began are in no journal entry
  expect(await differences(journal, item => 'pos' in item)).toEqual([])
  expect(await wrongSums(journal, record.treeId)).toEqual([])
}

test(`${AT_ONCE} concurrent logins, ${ROUNDS} times: no login is refused, few logins conflict, and the journal is sound`, async () => {
  const { path } = await freshMount()
  await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  await done('POST', `${path}/role/fleet`, { auth_type: 'ec2', bound_account_id: HOME.account })
  const workers = await Promise.all(Array.from({ length: 8 }, () => workerOn(path)))
  const instances = await Promise.all(Array.from({ length: AT_ONCE / 2 }, () => launch()))
  const logsIn = async (index: number) => {
    const instance = instances[index]
    const reply = instance
      ? await loginAs(path, instance, { role: 'fleet', nonce: `nonce ${index}` })
      : await workers[index % workers.length]?.tryLogin()
    return reply?.status === 200
  }
  // the first login of each role creates the role's entity, so it runs first: all instances share one entity
  // by their role, and each worker has its own entity
  for (const first of [0, ...workers.map((_, index) => instances.length + index)])
    expect(await logsIn(first)).toBe(true)
  const { refused, conflicts } = await crowd(logsIn)
  expect(refused).toBe(0)
  expect(conflicts).toBeLessThan(BY_CHANCE)
  await isSound()
})

/**
 * Commits as a login does: a token and the entry of an instance. @param inside whether all logins also write
 * one shared item
 */
function loginsOf(inside: boolean): (index: number) => Promise<boolean> {
  const { tap_url: endpoint = '', credentials } = cluster
  const send = sendTo(endpoint, credentials)
  const counter = {
    TableName: cluster.tables.cluster,
    Key: { pk: 'journal', sk: 'head' },
    UpdateExpression: 'ADD inside :one',
    ExpressionAttributeValues: { ':one': 1 },
  }
  const counting: TableSend = (operation, input, options) => {
    const { TransactItems } = input as { TransactItems?: object[] }
    const counted = TransactItems && { TransactItems: [...TransactItems, { Update: counter }] }
    return send(operation, counted ? { ...input, ...counted } : input, options)
  }
  const own = createDynamoTables(
    {
      tables: cluster.tables,
      clock: { now: Date.now, sleep: async ms => void (await setTimeout(ms)) },
      entropy: { bytes: randomBytes, uuid: randomUUID },
      meter: createCallMeter(),
      log: { error: noBrokenHead },
    },
    inside ? counting : send,
  ).store
  const owner = fresh()
  return async index => {
    const place = key('access', owner, `i-${index}`)
    const [entry] = await own.read([place])
    const changes = [
      createItem(key('token', fresh('token')), { createdAt: 1 } as never, {
        expires: Math.floor(Date.now() / 1000) + 60,
      }),
      replaceItem(place, entry, { role: fresh() } as never),
    ]
    const result = await own.commit(changes, { record, readAt: Date.now() }).catch(() => 'busy')
    return result === 'done'
  }
}

test('writes of logins do not conflict; if each login wrote the counter in its transaction, most logins would conflict, and some would be refused', async () => {
  const outside = await crowd(loginsOf(false))
  expect(outside.refused).toBe(0)
  expect(outside.conflicts).toBeLessThan(BY_CHANCE)
  const inside = await crowd(loginsOf(true))
  expect(inside.refused).toBeGreaterThan(sized(0, AT_ONCE / 2))
  expect(inside.conflicts).toBeGreaterThan(0.5)
  await isSound()
})
