import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { CommonAlarm } from '../../../../infra/watching/alarms.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { faultRow } from '../../../support/programs/fault-table.ts'
import type { Reply } from '../../../support/service/api.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import { watchedSet } from '../../../support/set/watched.ts'

// Causes faults of a pair, and checks the alarm, the status field and the text that docs/do/troubleshooting.md names.

const DR = '/sys/replication/dr'
const MINUTE = 60_000
const YEAR = 365 * 86_400_000

let from: Warm
let set: ClusterSet
let watched: Awaited<ReturnType<typeof watchedSet>>

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})

// clusters of one snapshot share their keys
afterEach(() => {
  for (const { kms } of set.members) kms.setEnabled(true)
})

const at = (name: string) => set.at(name)
const minutes = (count: number) => watched.minutes(count)

/** Returns the values at a path of a status, for each entry of a list. */
function valuesAt(status: unknown, [name, ...rest]: readonly string[]): unknown[] {
  if (Array.isArray(status))
    return status.flatMap(one => valuesAt(one, name === undefined ? [] : [name, ...rest]))
  if (name === undefined) return [status]
  const value = (status as Record<string, unknown> | undefined)?.[name]
  return value === undefined ? [] : valuesAt(value, rest)
}

interface Injected {
  /** the status path that shows the fault */
  on: 'east' | 'west'
  /** @returns the answer that shows the fault, if there is one */
  inject: () => Promise<unknown>
}

const request = (name: string, method: string, path: string, body: object = {}) =>
  at(name).request(method, path, body)

/** Deletes or changes an item without a journal entry. */
async function byHand(name: string, place: ReturnType<typeof key>, change?: object): Promise<void> {
  const { journal } = at(name).ports
  const [item] = await journal.readRaw([place])
  if (!item) throw new Error('there is no such item')
  await journal.transact([
    { kind: 'item', item: place, put: change ? { ...item, ...change } : null, if: { rev: item.rev } },
  ])
}

const faults: Record<string, Injected> = {
  'KMS key of the primary disabled': {
    on: 'east',
    inject: async () => {
      at('east').kms.setEnabled(false)
      at('east').newMemory()
      await request('east', 'GET', '/sys/auth')
    },
  },
  'KMS key of the secondary disabled': {
    on: 'west',
    inject: async () => {
      await minutes(2)
      at('west').kms.setEnabled(false)
      await minutes(32)
    },
  },
  'secondary revoked': {
    on: 'west',
    inject: async () => {
      await at('east').ok('POST', `${DR}/primary/revoke-secondary`, { id: 'west' })
      await minutes(4)
    },
  },
  'clock of a cluster wrong': {
    on: 'west',
    inject: async () => {
      await minutes(1)
      at('west').setClock(10 * MINUTE)
      await minutes(4)
    },
  },
  'primary silent': {
    on: 'west',
    inject: async () => {
      set.cut('east', 'west')
      await minutes(5)
    },
  },
  'secondary silent': {
    on: 'east',
    inject: async () => {
      await minutes(1)
      set.cut('east', 'west')
      await minutes(5)
    },
  },
  'tables full or throttled': {
    on: 'east',
    inject: async () => {
      set.fillDisk('east', MINUTE)
      return request('east', 'POST', '/sys/policies/acl/x', { policy: 'path "a" {}' })
    },
  },
  'licence expired': {
    on: 'east',
    inject: async () => {
      set.pass(11 * YEAR)
      await at('east')
        .hour()
        .catch(() => undefined)
      return request('east', 'POST', `${DR}/primary/secondary-token`, { id: 'other' })
    },
  },
  'live item deleted by TTL': {
    on: 'east',
    inject: async () => {
      const { body } = await at('east').ok('POST', '/auth/token/create', { policies: ['default'] })
      await byHand('east', key('token', body.auth.accessor))
      set.pass(61_000)
      await at('east').ok('POST', '/sys/replication/merkle-check', {})
      await set.settled()
    },
  },
  'two primaries': {
    on: 'west',
    inject: async () => {
      set.cut('east', 'west')
      const { giveToken, promote } = promotions(set)
      await giveToken('west')
      expect((await promote('west', { force: true })).status).toBe(200)
      await set.settled()
      await minutes(2)
    },
  },
  'activation token expired': {
    on: 'east',
    inject: async () => {
      await at('east').ok('POST', `${DR}/primary/secondary-token`, { id: 'other' })
      set.pass(2 * 86_400_000)
      await minutes(1)
    },
  },
  'step of a role change fails': {
    on: 'west',
    inject: async () => {
      const { giveToken, promote } = promotions(set)
      await minutes(1)
      await giveToken('west')
      at('west').breakStep('verify')
      await promote('west')
      await set.settled()
      // one EventBridge rule handles the failed execution
      watched.at('west').aws('WorkflowFailed', set.clock.now())
    },
  },
  'clients call the secondary': { on: 'west', inject: () => request('west', 'GET', '/sys/auth') },
}

describe('a fault shows as docs/do/troubleshooting.md says', () => {
  test.each(Object.entries(faults))('%s', async (name, { on, inject }) => {
    const { alarm, field, value, text } = faultRow(name)
    set = await clusterSet(['east', 'west'], { from, memory: true })
    watched = await watchedSet(set)
    const reply = (await inject()) as Reply | undefined
    if (text !== '' && reply) expect(reply.text).toContain(text)
    // API Gateway counts ten of these answers in each of two periods
    if (alarm === 'ServerErrors') expect(reply?.status).toBeGreaterThanOrEqual(500)
    else if (alarm !== '') expect(watched.on(on)).toContain(alarm as CommonAlarm)
    if (field === '') return
    const { body } = await at(on).ok('GET', `${DR}/status`, undefined, { token: '' })
    const found = valuesAt(body.data, field.split('.')).map(String)
    expect(found, field).not.toEqual([])
    if (value !== '') expect(found).toContain(value)
  })
})
