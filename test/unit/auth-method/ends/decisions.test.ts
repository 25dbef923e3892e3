import { describe, expect, test } from 'vitest'
import { chooseEventFate, readInstanceEvent } from '../../../../shared/auth-method/ends/event.ts'
import {
  chooseRound,
  groupLivingInstances,
  hasInstanceEnded,
} from '../../../../shared/auth-method/ends/round.ts'
import { endingCheck } from '../../../../shared/auth-method/login/ending.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import type { InstanceRecord, InstanceRound } from '../../../../shared/model/instance.ts'
import type { Token } from '../../../../shared/model/token.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { extendRecord, keepRecord } from '../../../../shared/tokens/instance-mark.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const ACCOUNT = '111122223333'
const OTHER = '444455556666'
const ID = 'i-0123456789abcdef0'
const NOW = 1_790_000_000_000
const DAY_MS = 86_400_000

const event = (more: object = {}, state: unknown = 'terminated', id: unknown = ID) => ({
  source: 'aws.ec2',
  'detail-type': 'EC2 Instance State-change Notification',
  account: ACCOUNT,
  resources: [`arn:aws:ec2:eu-west-1:${ACCOUNT}:instance/${ID}`],
  detail: { 'instance-id': id, state },
  ...more,
})

describe('reading an event', () => {
  test.each([
    ['terminated', event()],
    ['shutting-down', event({}, 'shutting-down')],
    ['without resources', event({ resources: undefined })],
  ])('of an instance that is %s returns account and ID', (_, given) => {
    expect(readInstanceEvent(given)).toEqual({ ok: true, value: { account: ACCOUNT, id: ID } })
  })

  test.each([
    ['another state', event({}, 'stopped')],
    ['another source', event({ source: 'mine' })],
    ['another kind', event({ 'detail-type': 'EC2 Spot Instance Interruption Warning' })],
    ['no account', event({ account: undefined })],
    ['a malformed account', event({ account: `${ACCOUNT}0` })],
    ['a malformed ID', event({}, 'terminated', `${ID}.x`)],
    ['no detail', event({ detail: undefined })],
    ['no object', null],
  ])('with %s is not about an end', (_, given) => {
    expect(readInstanceEvent(given)).toEqual({ ok: false, fault: 'no-end' })
  })

  test('of an account that names an instance of another account is refused', () => {
    expect(readInstanceEvent(event({ account: OTHER }))).toEqual({ ok: false, fault: 'other-account' })
    const both = [`arn:aws:ec2:eu-west-1:${OTHER}:instance/${ID}`, ...event().resources]
    expect(readInstanceEvent(event({ account: OTHER, resources: both })).ok).toBe(false)
  })
})

describe('an event is', () => {
  const fate = (record: Partial<ClusterRecord> | undefined, home = 'cluster') =>
    chooseEventFate(record as ClusterRecord | undefined, { home })

  test.each([
    ['recorded by a cluster in no set', { mode: 'disabled' }, 'record'],
    ['recorded by a primary', { mode: 'primary', homeTable: 'cluster' }, 'record'],
    ['recorded by a primary that hands over', { mode: 'primary', operation: 'o' }, 'record'],
    ['dropped by a restored copy', { mode: 'primary', homeTable: 'before' }, 'drop'],
    ['dropped by a secondary', { mode: 'secondary' }, 'drop'],
    ['repeated for a secondary that changes its role', { mode: 'secondary', operation: 'o' }, 'repeat'],
    ['dropped by a cluster that does its first sync', { mode: 'bootstrapping', operation: 'o' }, 'drop'],
  ] as const)('%s', (_, record, expected) => {
    expect(fate(record)).toBe(expected)
  })

  test('dropped before initialisation', () => {
    expect(fate(undefined)).toBe('drop')
  })
})

describe('a round', () => {
  const last: InstanceRound = { startedAt: NOW - 3_600_000, epoch: 'e1', home: 'a', runUntil: NOW - 1 }
  const start = {
    startedAt: NOW,
    epoch: 'e1',
    home: 'a',
    runUntil: expect.any(Number),
    next: { mount: '', after: '' },
  }
  const next = { mount: 'm', after: 'a' }
  const here = { epoch: 'e1', home: 'a' }

  test('begins without an earlier round, a day after the last round, in another epoch, and in restored tables', () => {
    expect(chooseRound(undefined, here, NOW)).toEqual(start)
    expect(chooseRound({ ...last, startedAt: NOW - DAY_MS }, here, NOW)).toEqual(start)
    expect(chooseRound({ ...last, next, runUntil: NOW + 1 }, { ...here, epoch: 'e2' }, NOW)).toEqual({
      ...start,
      epoch: 'e2',
    })
    expect(chooseRound(last, { ...here, home: 'b' }, NOW)).toEqual({ ...start, home: 'b' })
    expect(chooseRound(undefined, { home: 'a' }, NOW)?.epoch).toBe('')
  })

  test('is not due within a day after a complete round', () => {
    expect(chooseRound(last, here, NOW)).toBeUndefined()
    expect(chooseRound({ ...last, startedAt: NOW - DAY_MS + 1 }, here, NOW)).toBeUndefined()
  })

  test('continues where it stopped, unless another run works on it', () => {
    const open = { ...last, next }
    expect(chooseRound(open, here, NOW)).toEqual({ ...open, runUntil: NOW + 960_000 })
    expect(chooseRound({ ...open, runUntil: NOW + 1 }, here, NOW)).toBeUndefined()
    const slow = { ...open, startedAt: NOW - 2 * DAY_MS }
    expect(chooseRound(slow, here, NOW)?.next).toEqual(next)
  })
})

const record = (data: Partial<InstanceRecord> = {}, account = ACCOUNT, id = ID): Item<'instance'> => ({
  ...key('instance', 'm', `${account}.${id}`),
  rev: '1',
  data: { region: 'eu-west-1', loggedInAt: NOW, ...data },
  expires: 1000,
})

describe('an instance has ended', () => {
  const ended = (state: string | undefined, loggedInAt = NOW) =>
    hasInstanceEnded(
      { region: 'eu-west-1', loggedInAt },
      state === undefined ? undefined : { id: ID, state, tags: {} },
      NOW,
    )
  test.each(['shutting-down', 'terminated'])('in the state %s', state => {
    expect(ended(state)).toBe(true)
  })
  test.each(['pending', 'running', 'stopping', 'stopped'])('not in the state %s', state => {
    expect(ended(state, 0)).toBe(false)
  })
  test('if EC2 does not know it, later than ten minutes after its login', () => {
    expect(ended(undefined, NOW - 600_000)).toBe(false)
    expect(ended(undefined, NOW - 600_001)).toBe(true)
  })
})

test('living instances are grouped by account and region', () => {
  const [a, b, c, d] = [
    record(),
    record({}, ACCOUNT, 'i-00000001'),
    record({ region: 'eu-west-2' }),
    record({}, OTHER),
  ]
  expect(groupLivingInstances([a, b, c, record({ endedAt: 1 }), d])).toEqual([
    { account: ACCOUNT, region: 'eu-west-1', records: [a, b] },
    { account: ACCOUNT, region: 'eu-west-2', records: [c] },
    { account: OTHER, region: 'eu-west-1', records: [d] },
  ])
})

describe('the record of an instance', () => {
  // ends at 1,001 s
  const token = { createdAt: 0, ttl: 1000 } as Token
  const changes = (expires: number) => {
    const stored = { ...record({ endedAt: 7 }), expires }
    return keepRecord(stored, stored, stored.data, token).map(change => ({
      ...('times' in change ? change.times : {}),
      ...('data' in change ? change.data : {}),
    }))
  }

  test('is kept a minute longer than a token that outlives it, with its end', () => {
    expect(changes(1000)).toEqual([{ expires: 1061, region: 'eu-west-1', loggedInAt: NOW, endedAt: 7 }])
  })

  test('is not written for a token that it outlives, for a child, or if it is gone', async () => {
    expect(changes(1001)).toEqual([])
    const marked = { ...token, instance: { mount: 'm', account: ACCOUNT, id: ID } }
    const stored = { ...record(), expires: 1000 }
    const written = async (of: Token, items: Item[]) => (await extendRecord(of, memoryStore(items))).length
    expect(await written(marked, [stored])).toBe(1)
    expect(await written({ ...marked, parent: 'p' }, [stored])).toBe(0)
    expect(await written(marked, [])).toBe(0)
  })

  test('refuses a login of an instance that has ended, and a login without an instance', () => {
    const instance = { account: ACCOUNT, id: ID, region: 'eu-west-1' }
    const refuse = (facts: Parameters<typeof endingCheck.refuse>[0]) => endingCheck.refuse(facts)?.why
    expect(refuse({ instance, record: undefined })).toBeUndefined()
    expect(refuse({ instance, record: record() })).toBeUndefined()
    expect(refuse({ instance, record: record({ endedAt: 0 }) })).toBe('instance-ended')
    expect(refuse({ instance: 'unknown', record: undefined })).toBe('no-instance')
  })
})
