import { describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { operationWorkflows } from '../../../../shared/workers/operations.ts'
import { HOST_REFRESHES, HOST_RETURNS } from '../../../../shared/workers/workers.ts'
import { clock } from '../../../support/service/clock.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { raw, sendAt } from '../../../support/tables/store.ts'

// Workers must reject a cluster record of another format, although the journal's head is valid.

// a new journal waits until all environments know it
withoutWaiting()

const WRITES = ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems']
const place = key('cluster')

/** The first step of each operation. */
const firstSteps = Object.entries(operationWorkflows).map(
  ([workflow, { steps }]) =>
    ['on-operation', { workflow, operation: 'o', step: Object.keys(steps)[0] }] as const,
)

describe.each([
  ['no format', undefined],
  ['format 0', 0],
  ['format 2', 2],
])('workers of a primary whose record has %s', (named, format) => {
  test('fail with an error that names the format, and write nothing', async () => {
    const host = await ownHost({ clock })
    await host.api('POST', '/sys/replication/dr/primary/enable')
    await host.settled()
    const { format: _, ...stored } = (await raw(host, place)) ?? {}
    const Item = { ...stored, ...(format === undefined ? {} : { format }) }
    await sendAt(host)('PutItem', { TableName: host.tables.cluster, Item })
    const tap = host.tap?.tap
    if (!tap) throw new Error('calls to the tables are not counted')
    tap.reset()
    const stream = { Records: [{ dynamodb: { Keys: { sk: { S: '2' } } } }, { dynamodb: {} }] }
    const minute = { source: 'aws.events' }
    for (const [folder, event] of [
      ['on-journal', stream],
      ['on-journal', minute],
      ['on-journal', HOST_REFRESHES],
      ['on-pull', minute],
      ['on-pull', HOST_RETURNS],
      ['on-job', { job: 'tidy', mount: 'm', list: 'roletag-denylist', buffer: 1, runner: 'r' }],
      ['on-job', { job: 'reencrypt' }],
      ...firstSteps,
      ['on-attempt', { step: 'wait', token: 't' }],
      ['on-drill', minute],
      ['on-drill', { workflow: 'drill', operation: 'o', step: 'check' }],
    ] as const)
      await expect(host.invoke(folder, event), `${folder} ${JSON.stringify(event)}`).rejects.toThrow(
        `the cluster record has ${named}`,
      )
    await expect(host.invoke('on-tidy-schedule', minute)).rejects.toThrow('the hourly round failed')
    // token-tidy finds nothing to remove, so it does not read the record
    await host.invoke('on-job', { job: 'token-tidy', of: 'token', at: { segment: 0 } })
    const calls = tap.calls()
    expect(calls.length).toBeGreaterThan(0)
    expect(calls.filter(({ operation }) => WRITES.includes(operation))).toEqual([])
    expect(await raw(host, place)).toEqual(Item)
  })
})
