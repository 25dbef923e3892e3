import { afterEach, describe, expect, test } from 'vitest'
import { putItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { reviewOf, verdictsOf } from '../../../support/requests/reviews.ts'
import { tokenAccount, tokenMount, tokenOf } from '../../../support/requests/web-tokens.ts'
import { workerOn } from '../../../support/requests/workers.ts'
import { clock } from '../../../support/service/clock.ts'
import { api, cluster, done, freshMount, storage } from '../../../support/service/cluster.ts'
import { tableStore } from '../../../support/tables/store.ts'

afterEach(clock.reset)

const DAY_SECONDS = 86_400

/** Returns the stored day of a role's last use. */
const dayOf = async (accessor: string, role: string): Promise<number | undefined> =>
  (await tableStore(cluster).store.read([key('role-use', accessor, role)]))[0]?.data.day

const today = () => Math.floor(clock.now() / 1000 / DAY_SECONDS)

async function operationsOf(login: () => Promise<unknown>): Promise<string[]> {
  await storage.reset()
  await login()
  return (await storage.calls()).map(call => call.operation)
}

describe('config/review', () => {
  test('has a default, and keeps the beginning of tracking', async () => {
    const { path } = await freshMount()
    const at = `${path}/config/review`
    const read = async () => (await done('GET', at)).body.data
    expect(await read()).toEqual({ track_use: false })
    await done('POST', at, { track_use: true })
    const first = await read()
    expect(first).toEqual({ track_use: true, tracked_since: expect.any(String) })
    clock.advance(60)
    for (const body of [{ track_use: true }, {}]) await done('POST', at, body)
    await done('POST', `${path}/config/identity`, { iam_alias: 'unique_id' })
    expect(await read()).toEqual(first)
    await done('POST', at, { track_use: false })
    expect(await read()).toEqual({ track_use: false })
    expect((await done('GET', `${path}/config/identity`)).body.data).toMatchObject({ iam_alias: 'unique_id' })
  })
})

describe('a login', () => {
  test('stores no use of its role by default, and makes no call more', async () => {
    const { path, accessor } = await freshMount()
    const worker = await workerOn(path)
    await worker.login()
    const before = await operationsOf(worker.login)
    expect(await dayOf(accessor, worker.role)).toBeUndefined()
    await done('POST', `${path}/config/review`, { track_use: false })
    expect(await operationsOf(worker.login)).toEqual(before)
  })

  test('stores the use of its role once a day, if config/review tracks uses', async () => {
    clock.stop()
    const { path, accessor } = await freshMount()
    const worker = await workerOn(path)
    await worker.login()
    const usual = await operationsOf(worker.login)
    await done('POST', `${path}/config/review`, { track_use: true })
    expect(await operationsOf(worker.login)).toEqual([...usual, 'BatchGetItem', 'PutItem'])
    expect(await dayOf(accessor, worker.role)).toBe(today())
    expect(await operationsOf(worker.login)).toEqual(usual)
    clock.advance(DAY_SECONDS)
    await worker.login()
    expect(await dayOf(accessor, worker.role)).toBe(today())
  })

  test('succeeds if the use cannot be stored, and the next login stores it', async () => {
    const { path, accessor } = await freshMount()
    const worker = await workerOn(path, { token_type: 'batch' })
    await done('POST', `${path}/config/review`, { track_use: true })
    await storage.reset()
    await storage.fault({ operation: 'PutItem', kind: 'throttle', when: 'before', skip: 0, times: 9 })
    await worker.login()
    expect(await dayOf(accessor, worker.role)).toBeUndefined()
    await storage.reset()
    await worker.login()
    expect(await dayOf(accessor, worker.role)).toBe(today())
  })

  test('by token stores the use of its role too, and a refused login does not', async () => {
    const path = await tokenMount()
    const { body } = await done('GET', `/sys/auth/${path.split('/').at(-1)}`)
    await done('POST', `${path}/config/review`, { track_use: true })
    const account = await tokenAccount()
    const jwt = await tokenOf(account)
    const login = () => api('POST', `${path}/login`, { role: 'app', jwt }, { token: '', from: '127.0.9.1' })
    const other = { role: 'app', jwt: await tokenOf(account, { aud: 'x' }) }
    expect((await api('POST', `${path}/login`, other, { token: '' })).status).toBe(400)
    expect(await dayOf(body.data.accessor, 'app')).toBeUndefined()
    expect((await login()).status).toBe(200)
    expect(await dayOf(body.data.accessor, 'app')).toBe(today())
  })
})

test('a review finds roles that no login has used for 90 days, once uses are tracked for 90 days', async () => {
  const { path } = await freshMount()
  await done('POST', `${path}/config/client`, { iam_server_id_header_value: '' })
  const [used, unused] = [await workerOn(path), await workerOn(path)]
  const unusedRoles = async () =>
    (await reviewOf(path, '')).findings.flatMap(({ rule, subject }) =>
      rule === 'unused-role' ? [subject] : [],
    )
  const verdict = async () => verdictsOf(await reviewOf(path, ''))['unused-role']
  expect(await verdict()).toBe('not asked: config/review does not track uses')
  await done('POST', `${path}/config/review`, { track_use: true })
  clock.advance(89 * DAY_SECONDS)
  expect(await verdict()).toBe('not asked: uses are tracked for 89 of 90 days')
  const fresh = await workerOn(path)
  clock.advance(2 * DAY_SECONDS)
  expect(await unusedRoles()).toEqual([`role/${used.role}`, `role/${unused.role}`].sort())
  const { store, commit } = tableStore(cluster)
  const { accessor } = (await done('GET', `/sys/auth/${path.split('/').at(-1)}`)).body.data
  const place = key('role-use', accessor, used.role)
  expect((await store.read([place]))[0]).toBeUndefined()
  await commit(putItem(place, { day: today() - 89 }))
  expect(await unusedRoles()).toEqual([`role/${unused.role}`])
  clock.advance(2 * DAY_SECONDS)
  expect(await unusedRoles()).toEqual([`role/${used.role}`, `role/${unused.role}`].sort())
  expect(await unusedRoles()).not.toContain(`role/${fresh.role}`)
})
