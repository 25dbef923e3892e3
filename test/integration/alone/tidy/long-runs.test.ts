import { beforeAll, describe, expect, test } from 'vitest'
import type { Token } from '../../../../shared/model/token.ts'
import type { Clock } from '../../../../shared/ports.ts'
import { type Change, createItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { entry } from '../../../support/requests/lists.ts'
import { fresh } from '../../../support/service/cluster.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { raw, seed, tableStore } from '../../../support/tables/store.ts'

// A job that outlasts its Lambda continues in the next invocation. Jobs stop two seconds before their
// timeout, so jobs in this test have one second. Each reading of the test's clock adds 5 ms, so the jobs
// outlast their second on any machine.

const SECONDS = 3
const LOOK_MS = 5

const start = Date.now()
let looks = 0
const clock: Clock = { now: () => start + LOOK_MS * looks++, sleep: async () => undefined }

let host: Awaited<ReturnType<typeof ownHost>>
let tables: ReturnType<typeof tableStore>
const runs: { job: string; result: string }[] = []

beforeAll(async () => {
  host = await ownHost({
    clock,
    timeouts: { 'on-job': SECONDS },
    onLine: line => {
      if (line.includes('"job"')) runs.push(JSON.parse(line))
    },
  })
  tables = tableStore(host)
})

const resultsOf = (job: string) => runs.filter(run => run.job === job).map(run => run.result)

async function mounted(): Promise<{ path: string; accessor: string }> {
  const path = fresh('m')
  await host.api('POST', `/sys/auth/${path}`, { type: 'cloud' })
  const { body } = await host.api('GET', `/sys/auth/${path}`)
  return { path, accessor: body.data.accessor }
}

const token = (accessor: string, more: Partial<Token>): Change =>
  createItem(key('token', accessor), {
    type: 'service',
    hash: '',
    path: 'auth/cloud/login',
    displayName: '',
    policies: [],
    meta: null,
    depth: 0,
    numUses: 0,
    renewable: false,
    createdAt: Date.now(),
    ttl: 3600,
    creationTtl: 3600,
    explicitMaxTtl: 0,
    period: 0,
    boundCidrs: [],
    ...more,
  })

const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index))

describe('jobs that outlast one Lambda invocation', () => {
  test('a tidy of many entries continues until the tidy is complete, under one guard', async () => {
    const { path, accessor } = await mounted()
    await seed(
      tables,
      numbered(400).map(name => entry('access', accessor, `i-${name}`, 100)),
    )
    await seed(tables, [entry('access', accessor, 'i-young', 1)])
    const started = await host.api('POST', `/auth/${path}/tidy/identity-accesslist`)
    expect(started.status).toBe(202)
    expect((await host.api('POST', `/auth/${path}/tidy/identity-accesslist`)).status).toBe(200)
    await host.settled()
    const { identity_accesslist: status } = (await host.api('GET', `/auth/${path}/tidy-status`)).body.data
    expect(status).toMatchObject({ running: false, removed: 400, failed: 0 })
    expect((await host.api('GET', `/auth/${path}/identity-accesslist?list=true`)).body.data.keys).toEqual([
      'i-young',
    ])
    expect(resultsOf('tidy').filter(result => result === 'again').length).toBeGreaterThan(0)
    expect(resultsOf('tidy').at(-1)).toBe('done')
  })

  test('the removal of a mount and its items continues until all items are removed', async () => {
    const { path, accessor } = await mounted()
    await seed(tables, [
      ...numbered(150).map(name => entry('access', accessor, `i-${name}`, -1)),
      ...numbered(20).map(name => entry('deny', accessor, `tag-${name}`, -1)),
      ...numbered(300).map(name => token(`${accessor}-${name}`, { mount: accessor })),
    ])
    await tables.commit(token(`other-${accessor}`, {}))
    expect((await host.api('DELETE', `/sys/auth/${path}`)).status).toBe(204)
    await host.settled()
    expect(resultsOf('remove-mount').at(-1)).toBe('done')
    expect(resultsOf('remove-mount').filter(result => result === 'again').length).toBeGreaterThan(0)
    for (const name of ['0', '75', '149'])
      expect(await raw(host, key('access', accessor, `i-${name}`)), name).toBeUndefined()
    const left = await accessors()
    expect(left.filter(name => name.startsWith(accessor))).toEqual([])
    expect(left).toContain(`other-${accessor}`)
  })

  test('a tidy of tokens visits all tokens, however often the tidy is cut', async () => {
    const parent = fresh('parent')
    await seed(tables, [
      ...numbered(150).map(name => token(`${parent}-orphan-${name}`, { parent: `${parent}-gone` })),
      ...numbered(150).map(name => token(`${parent}-${name}`, {})),
      ...numbered(50).map(name => createItem(key('child', parent, `${parent}-none-${name}`), {})),
    ])
    expect((await host.api('POST', '/auth/token/tidy')).status).toBe(202)
    await host.settled()
    expect(resultsOf('token-tidy').at(-1)).toBe('done')
    expect(resultsOf('token-tidy').length).toBeGreaterThan(1)
    const left = (await accessors()).filter(name => name.startsWith(parent))
    expect(left.filter(name => name.includes('orphan'))).toEqual([])
    expect(left).toHaveLength(150)
    expect(await raw(host, key('child', parent, `${parent}-none-7`))).toBeUndefined()
  })
})

async function accessors(): Promise<string[]> {
  const names: string[] = []
  for await (const { items } of tables.store.scan('token', { index: 0, of: 1 }))
    names.push(...items.map(item => item.pk.slice('token#'.length)))
  return names
}
