import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  configured,
  guardEnds,
  isServed,
  keysOf,
  rotate,
  rotating,
} from '../../../support/requests/rotation.ts'
import { aws, storage } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'

withoutWaiting()

// A rotation of the root key that dies at any call leaves the mount with a working key. The next rotation
// ends with exactly one key, the new key.

afterEach(async () => {
  await storage.reset()
  await aws.clearFaults()
})

interface Cut {
  skip: number
  when: 'before' | 'after'
}

const cutsOf = (calls: readonly string[], changes: (call: string) => boolean): Cut[] =>
  calls.flatMap((call, skip): Cut[] =>
    changes(call)
      ? [
          { skip, when: 'before' },
          { skip, when: 'after' },
        ]
      : [{ skip, when: 'before' }],
  )

const isWrite = (operation: string) => !['BatchGetItem', 'Query'].includes(operation)
const changesKeys = (action: string) => /^(Create|Delete)/.test(action)

async function cutBy(arrange: () => Promise<unknown>, where: string): Promise<void> {
  const one = await rotating()
  await storage.reset()
  await arrange()
  const reply = await rotate(one)
  await storage.reset()
  await aws.clearFaults()
  if (reply.status >= 300) {
    expect([502, 503], `${where}: ${reply.text}`).toContain(reply.status)
    expect(reply.body.errors[0]).toMatch(/\w/)
  }
  await isServed(one, where)
  await guardEnds(one)
  const again = await rotate(one)
  expect(again.status, `${where}, again: ${again.text}`).toBe(200)
  expect(await configured(one), where).toBe(again.body.data.access_key)
  expect(await keysOf(one), where).toEqual([again.body.data.access_key])
  await isServed(one, where)
}

describe('a cut rotation leaves a working key, and the next one ends with a single key', () => {
  let tableCalls: string[] = []
  let awsCalls: string[] = []
  beforeAll(async () => {
    await rotate(await rotating())
    const one = await rotating()
    await storage.reset()
    await aws.resetCalls()
    expect((await rotate(one)).status).toBe(200)
    tableCalls = (await storage.calls()).map(call => call.operation)
    awsCalls = (await aws.calls()).calls.filter(call => call.account === one.account).map(call => call.action)
  })

  test('when cut at one call to the tables', async () => {
    expect(tableCalls.filter(isWrite).length).toBeGreaterThanOrEqual(4)
    for (const cut of cutsOf(tableCalls, isWrite)) {
      const where = `call ${cut.skip + 1} (${tableCalls[cut.skip]}) ${cut.when}`
      await cutBy(() => storage.fault({ kind: 'reset', whole: true, ...cut }), where)
    }
  })

  test('when cut at every call to the tables from one call on', async () => {
    for (const [skip, operation] of tableCalls.entries()) {
      const where = `from call ${skip + 1} (${operation}) on`
      await cutBy(() => storage.fault({ kind: 'reset', when: 'before', skip, times: 999 }), where)
    }
  })

  test('when cut at a call to AWS', async () => {
    expect(awsCalls).toEqual([
      'GetUser',
      'ListAccessKeys',
      'CreateAccessKey',
      'GetUser',
      'ListAccessKeys',
      'DeleteAccessKey',
    ])
    for (const cut of cutsOf(awsCalls, changesKeys)) {
      const where = `call ${cut.skip + 1} (${awsCalls[cut.skip]}) ${cut.when}`
      await cutBy(() => aws.fault({ service: 'iam', kind: 'reset', ...cut }), where)
    }
  })
})
