import { expect, test } from 'vitest'
import { alarmingTexts } from '../../../shared/api/alarming.ts'
import { ApiError, AUDIT_UNWRITABLE_TEXT, STORAGE_BUSY_TEXT } from '../../../shared/api/errors.ts'
import { recordPartFaults } from '../../../shared/http/note-faults.ts'
import type { RecentFault } from '../../../shared/model/fault.ts'
import type { ClusterRead } from '../../../shared/ports.ts'
import type { Change } from '../../../shared/storage/changes.ts'
import { portsWith } from '../../builders/ports.ts'

/** Builds an environment whose clock and storage the test controls. */
function environment() {
  const world = { now: 1_000_000, written: [] as (RecentFault & { part: string })[], isDown: false }
  const commit = async (changes: readonly Change[]) => {
    if (world.isDown) throw new ApiError('busy', STORAGE_BUSY_TEXT)
    for (const change of changes)
      if (change.kind === 'put') world.written.push({ part: change.key.sk, ...(change.data as RecentFault) })
    return 'done'
  }
  const ports = portsWith({
    memory: { cluster: { record: {}, readAt: 0 } as unknown as ClusterRead },
    store: { commit },
    clock: { now: () => world.now },
    log: { warn: () => undefined },
  })
  const ended = (error?: ApiError, { login, kms = 0 }: { login?: object; kms?: number } = {}) =>
    recordPartFaults({ error, login, calls: { kms } }, ports)
  return { world, ended }
}

const disabled = Object.assign(new Error('arn:aws:kms:us-east-1:1:key/x is disabled.'), {
  name: 'DisabledException',
})
const sealed = () => new ApiError('busy', alarmingTexts.keyring, { cause: disabled })

test("a login that fails by KMS is recorded as keyring and logins, with the cause's name but not its text", async () => {
  const { world, ended } = environment()
  await ended(sealed(), { login: {}, kms: 3 })
  const text = `${alarmingTexts.keyring} (DisabledException)`
  const at = world.now
  expect(world.written).toEqual([
    { part: 'keyring', text, since: at, at },
    { part: 'logins', text, since: at, at },
  ])
})

test('a failing component is recorded once in 30 s per environment, and once when the component works again', async () => {
  const { world, ended } = environment()
  for (let second = 0; second < 60; second++) {
    await ended(sealed(), { kms: 1 })
    world.now += 1000
  }
  expect(world.written.map(({ since, at }) => [since, at])).toEqual([
    [1_000_000, 1_000_000],
    [1_000_000, 1_030_000],
  ])
  // a request that used no keyring, or a cached keyring, proves nothing about KMS
  await ended()
  expect(world.written).toHaveLength(2)
  await ended(undefined, { kms: 1 })
  await ended(undefined, { kms: 1 })
  expect(world.written.slice(2)).toEqual([expect.objectContaining({ part: 'keyring', endedAt: 1_060_000 })])
})

test('nothing is recorded without faults or for client errors', async () => {
  const { world, ended } = environment()
  await ended(undefined, { login: {}, kms: 1 })
  await ended(new ApiError('invalid_request', 'no'), { login: {} })
  await ended(new ApiError('permission_denied'))
  expect(world.written).toEqual([])
})

test('a storage fault is recorded once storage works again', async () => {
  const { world, ended } = environment()
  world.isDown = true
  await ended(new ApiError('busy', STORAGE_BUSY_TEXT))
  world.isDown = false
  world.now += 5000
  await ended()
  expect(world.written).toEqual([
    { part: 'storage', text: STORAGE_BUSY_TEXT, since: 1_000_000, at: 1_000_000, endedAt: 1_005_000 },
  ])
})

test('an unwritable audit log is recorded with the code of the fault', async () => {
  const { world, ended } = environment()
  const cause = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  await ended(new ApiError('busy', `${AUDIT_UNWRITABLE_TEXT} (ENOSPC)`, { cause }))
  expect(world.written).toMatchObject([{ part: 'audit', text: `${AUDIT_UNWRITABLE_TEXT} (ENOSPC)` }])
})
