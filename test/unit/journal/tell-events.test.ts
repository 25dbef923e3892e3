import { expect, test } from 'vitest'
import { alarming } from '../../../shared/api/alarming.ts'
import { roleEvent } from '../../../shared/journal/role-event.ts'
import { tellRoleEvents } from '../../../shared/journal/tell-events.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { BusEvent } from '../../../shared/ports.ts'
import type { Change } from '../../../shared/storage/changes.ts'

const from = { id: 'c-1', set: 's-1', mode: 'secondary' } as ClusterRecord
const to = { ...from, mode: 'primary', epoch: '000002.b' } as ClusterRecord
const { place, data } = roleEvent({ from, to, position: '000001.a/9', operation: 'o', lost: 0 }, 1000)
const waiting = [{ ...place, rev: 'r', data }]

function portsWith(put: (events: readonly BusEvent[]) => Promise<void>) {
  const commits: (readonly Change[])[] = []
  const warned: object[] = []
  const store = {
    list: async () => waiting,
    read: async () => [{ data: to }],
    commit: async (changes: readonly Change[]) => {
      commits.push(changes)
      return 'done'
    },
  }
  return {
    commits,
    warned,
    ports: {
      store: store as never,
      events: { put },
      clock: { now: () => 2, sleep: async () => undefined },
      log: { warn: (message: string, fields: object) => void warned.push({ message, ...fields }) } as never,
    },
  }
}

test('a change of role is told with names and positions, and then forgotten', async () => {
  const told: BusEvent[] = []
  const { commits, warned, ports } = portsWith(async events => void told.push(...events))
  await tellRoleEvents(ports)
  expect(told).toEqual([
    {
      type: 'DR role changed',
      time: '1970-01-01T00:00:01Z',
      detail: {
        cluster: 'c-1',
        set: 's-1',
        from: 'secondary',
        to: 'primary',
        epoch: '000002.b',
        position: '000001.a/9',
        operation: 'o',
        lost: 0,
      },
    },
  ])
  expect(commits).toEqual([[expect.objectContaining({ expected: { rev: 'r' } })]])
  expect(warned).toEqual([
    expect.objectContaining({ message: alarming.role, from: 'secondary', to: 'primary' }),
  ])
})

test('what the bus does not take is kept, to be told again', async () => {
  const { commits, ports } = portsWith(() => Promise.reject(new Error('not now')))
  await expect(tellRoleEvents(ports)).rejects.toThrow('not now')
  expect(commits).toEqual([])
})
