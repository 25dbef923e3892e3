import { expect, test } from 'vitest'
import { alarmingTexts } from '../../../shared/api/alarming.ts'
import { makeRoleEvent } from '../../../shared/journal/role-event.ts'
import { sendRoleEvents } from '../../../shared/journal/send-role-events.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import type { BusEvent } from '../../../shared/work-ports.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'

const from = { id: 'c-1', set: 's-1', mode: 'secondary', keyringEdition: 1 } as ClusterRecord
const to = { ...from, mode: 'primary', epoch: '000002.b' } as ClusterRecord
const { place, data } = makeRoleEvent({ from, to, position: '000001.a/9', operation: 'o', lost: 0 }, 1000)
const waiting = [{ ...place, rev: 'r', data } as Item<'role-event'>]

function portsWith(put: (events: readonly BusEvent[]) => Promise<void>) {
  const { as, commits } = memoryStore([{ ...key('cluster'), rev: 'r', data: to }, ...waiting])
  const clock = { now: () => 2, sleep: async () => undefined }
  const warned: object[] = []
  const log = { warn: (message: string, fields: object) => void warned.push({ message, ...fields }) } as never
  return { commits, warned, ports: { store: as('on-journal'), events: { put }, clock, log } }
}

test('a role change is sent with names and positions, and its item is then deleted', async () => {
  const told: BusEvent[] = []
  const { commits, warned, ports } = portsWith(async events => void told.push(...events))
  await sendRoleEvents(ports)
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
  expect(commits).toEqual([[expect.objectContaining({ expected: { rev: 'r', orAbsent: true } })]])
  expect(warned).toEqual([
    expect.objectContaining({ message: alarmingTexts.role, from: 'secondary', to: 'primary' }),
  ])
})

test('a role change that the event bus rejects keeps its item', async () => {
  const { commits, ports } = portsWith(() => Promise.reject(new Error('not now')))
  await expect(sendRoleEvents(ports)).rejects.toThrow('not now')
  expect(commits).toEqual([])
})
