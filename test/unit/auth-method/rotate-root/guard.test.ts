import { describe, expect, test } from 'vitest'
import type { MountCall } from '../../../../shared/api/call.ts'
import {
  clearKeyCreation,
  commitAllChanges,
  recordKeyCreation,
  releaseRotationGuard,
  takeRotationGuard,
} from '../../../../shared/auth-method/rotate-root/guard.ts'
import type { RotationGuard } from '../../../../shared/model/rotation.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { callWith } from '../../../support/requests/call.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const NOW = 1_000_000
const place = key('rotation', 'auth_cloud_1')
const cluster = item(key('cluster'), { mode: 'primary', keyring: 'k', keyringEdition: 1 } as never)

function world(held?: RotationGuard, outcome: 'done' | 'conflict' = 'done') {
  const items: Item[] = [cluster, ...(held ? [item(place, held)] : [])]
  const { as, commits } = memoryStore(items, { verdicts: [outcome] })
  const call = callWith({
    mount: mount(),
    ports: {
      store: as('rotate-root'),
      clock: { now: () => NOW },
      cipher: { expectKeyring: () => undefined },
    },
  })
  return { call: call as MountCall, written: () => commits.flat() }
}

describe('the guard of a key rotation', () => {
  test('a free guard is taken for a minute', async () => {
    const { call, written } = world()
    expect(await takeRotationGuard(call)).toBe(0)
    expect(written()).toEqual([
      {
        kind: 'put',
        key: place,
        data: { leaseUntil: NOW + 60_000, makingSince: 0, owner: 'request-1' },
        expected: 'absent',
        times: {},
      },
    ])
  })

  test.each([
    [NOW + 1, 'held'],
    [NOW, 'free'],
    [0, 'free'],
  ])('a guard held until %i is %s', async (leaseUntil, state) => {
    const { call, written } = world({ leaseUntil, makingSince: 7, owner: 'other' })
    if (state === 'held') await expect(takeRotationGuard(call)).rejects.toThrow('already running')
    else expect(await takeRotationGuard(call)).toBe(7)
    expect(written().length).toBe(state === 'held' ? 0 : 1)
  })

  test('only one of two concurrent requests takes the guard', async () => {
    await expect(
      takeRotationGuard(world({ leaseUntil: 0, makingSince: 0, owner: 'other' }, 'conflict').call),
    ).rejects.toThrow('already running')
    const { call, written } = world({ leaseUntil: 0, makingSince: 7, owner: 'other' })
    await takeRotationGuard(call)
    expect(written()).toMatchObject([{ expected: { rev: 'r1' }, data: { makingSince: 7 } }])
  })

  test('the time of a starting key creation is recorded', async () => {
    const { call, written } = world({ leaseUntil: NOW + 1, makingSince: 0, owner: 'request-1' })
    await recordKeyCreation(call)
    expect(written()).toMatchObject([
      { data: { leaseUntil: NOW + 60_000, makingSince: NOW, owner: 'request-1' }, expected: 'any' },
    ])
  })

  test('releasing the guard keeps the record of a lost key', async () => {
    const { call, written } = world({ leaseUntil: NOW + 1, makingSince: 7, owner: 'request-1' })
    await releaseRotationGuard(call)
    expect(written()).toMatchObject([{ data: { leaseUntil: 0, makingSince: 7 }, expected: { rev: 'r1' } }])
  })

  test.each([undefined, { leaseUntil: NOW + 1, makingSince: 7, owner: 'other' }])(
    'a guard that the request does not hold is left alone: %j',
    async held => {
      const { call, written } = world(held)
      await releaseRotationGuard(call)
      expect(written()).toEqual([])
    },
  )

  test('clearing the key creation removes the record', async () => {
    const { call, written } = world({ leaseUntil: NOW + 1, makingSince: NOW, owner: 'request-1' })
    await clearKeyCreation(call)
    expect(written()).toMatchObject([{ data: { makingSince: 0, owner: 'request-1' } }])
  })

  test('a commit conflict is answered with busy', async () => {
    await expect(commitAllChanges(world(undefined, 'conflict').call, [])).rejects.toMatchObject({
      code: 'busy',
      retryAfter: 1,
    })
  })
})
