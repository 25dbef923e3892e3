import { beforeEach, expect, test } from 'vitest'
import { LinkRefused, LinkSilent } from '../../../../shared/link/source.ts'
import { type ClusterRecord, setRecordKeyring } from '../../../../shared/model/cluster.ts'
import type { ConnectToPeer } from '../../../../shared/replication/secondary/connect.ts'
import { replaceFollowerKeyring } from '../../../../shared/replication/secondary/follower.ts'
import { pullFromPrimary } from '../../../../shared/replication/secondary/pull.ts'
import { putItem, replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { policyAt } from '../../../builders/journal.ts'
import {
  admitting,
  asAlone,
  asPrimary,
  asWiped,
  commit,
  everythingOf,
  type Member,
  member,
  memberAs,
  newSet,
} from '../../../support/set/pair.ts'

let east: Member
let west: Member
let connect: ConnectToPeer

beforeEach(async () => {
  const clock = { ms: Date.now() }
  ;[east, west] = await Promise.all([member(clock), member(clock)])
  const set = newSet()
  connect = admitting(east, set)
  await Promise.all([asAlone(east), asAlone(west)])
  await asPrimary(east)
  await asWiped(west)
  await asSecondary(set.set)
  for (let n = 0; n < 5; n++) await commit(east, [policyAt(`p${n}`), 'v'])
})

/** Stores the state after the wipe of a secondary: a record with the primary, and the set's keyring. */
async function asSecondary(set: string): Promise<void> {
  const pair = Buffer.alloc(64, 7).toString('base64')
  const [record] = await west.store.read([key('cluster')])
  if (!record) throw new Error('not initialised')
  const [keyring] = await east.store.read([key('keyring')])
  const { parseLinkKeyPairs: linkPair, linkPublicKeysOf: keysOf } = await import(
    '../../../../shared/link/pair.ts'
  )
  const exported = await east.cipher.exportTo(keysOf(linkPair(pair)).exchange, set)
  const imported = await west.keyFactory.importFrom(
    exported.keyring,
    linkPair(pair).exchange,
    set,
    west.turn.ms,
  )
  const ownKey = await imported.cipher.encrypt(key('cluster'), 'ownKey', pair)
  const link = { secondaryId: 'west', primaryAddr: 'http://east', primaryAddrs: [], primaryKey: 'x', ownKey }
  const next: ClusterRecord = {
    ...record.data,
    mode: 'secondary',
    set,
    treeId: west.treeId,
    link,
    keyring: imported.keyring.id,
    term: imported.keyring.term,
  }
  expect(keyring?.data.id).toBe(imported.keyring.id)
  await west.store.commit(
    [
      replaceItem(record, record, next),
      putItem(key('keyring'), { ...imported.keyring, edition: record.data.keyringEdition }),
    ],
    {
      record: next,
      readAt: west.turn.ms,
    },
  )
}

const portsOf = ({ store, journal, cipher, keyFactory, clock, entropy }: Member) => {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const deployment = { apiAddress: '' } as never
  const audit = { write: async () => undefined }
  return { store, journal, cipher, keyFactory, clock, entropy, log, audit, deployment }
}

const SECONDS = 1000
const pulled = (link = connect, more: { waitsForLease?: boolean } = {}) =>
  pullFromPrimary(portsOf(memberAs(west, 'on-pull')), link, {
    deadline: west.turn.ms + 12 * SECONDS,
    ...more,
  })

/** Starts another run that pulls until a given time. */
async function beingPulled(until: number): Promise<void> {
  const [record, lease] = await west.store.read([key('cluster'), key('puller')])
  if (!record) throw new Error('not initialised')
  const other = { runId: 'another run', until, state: 'stream-wals' as const, rounds: 0 }
  const as = { record: record.data, readAt: west.turn.ms }
  await west.store.commit([replaceItem(key('puller'), lease, other)], as)
}

const told = async () => {
  const [puller, contact] = await west.store.read([key('puller'), key('contact')])
  return { puller: puller?.data, contact: contact?.data }
}

test('a run of the puller syncs, streams, and stores its progress', async () => {
  await pulled()
  expect((await everythingOf(west)).items).toEqual((await everythingOf(east)).items)
  const { puller, contact } = await told()
  expect(puller).toMatchObject({ state: 'stream-wals' })
  expect(contact).toMatchObject({ seq: 5, frontier: 5, addresses: [] })
  expect(await west.journal.head()).toMatchObject({ mode: 'applying', applied: 5 })
})

test('a second run of the puller ends immediately while the first run is active', async () => {
  let others = 0
  const busy: ConnectToPeer = peer => {
    const link = connect(peer)
    return {
      ...link,
      scan: async request => {
        others += 1
        let asked = false
        await pullFromPrimary(
          portsOf(west),
          () => {
            asked = true
            return link
          },
          { deadline: west.turn.ms + SECONDS },
        )
        expect(asked).toBe(false)
        return link.scan(request)
      },
    }
  }
  await pulled(busy)
  expect(others).toBeGreaterThan(0)
  expect(await west.journal.head()).toMatchObject({ mode: 'applying', applied: 5 })
})

test('the puller calls a silent or refusing primary again, and keeps the facts that it knows', async () => {
  await pulled()
  let calls = 0
  const failing: ConnectToPeer = peer => ({
    ...connect(peer),
    heartbeat: async request => {
      calls += 1
      if (calls === 1) throw new LinkSilent('nobody answers')
      if (calls === 2) throw new LinkRefused('permission_denied', 'revoked')
      return connect(peer).heartbeat(request)
    },
  })
  await commit(east, [policyAt('later'), 'v'])
  await pulled(failing)
  expect(calls).toBeGreaterThan(2)
  expect(await west.journal.head()).toMatchObject({ mode: 'applying', applied: 6 })
  await pulled(() => ({
    ...connect({} as never),
    heartbeat: () => Promise.reject(new LinkRefused('permission_denied', 'revoked')),
  }))
  const { contact } = await told()
  expect(contact).toMatchObject({ seq: 6, failedCall: { code: 'permission_denied', text: 'revoked' } })
})

test('a heartbeat that conflicts with another write at the primary is repeated at once, without a log line', async () => {
  let calls = 0
  const began = west.turn.ms
  const asked: number[] = []
  await pulled(peer => ({
    ...connect(peer),
    heartbeat: async request => {
      asked.push(west.turn.ms - began)
      calls += 1
      if (calls === 1) throw new LinkRefused('unavailable', 'two heartbeats at once: repeat')
      return connect(peer).heartbeat(request)
    },
  }))
  expect(asked.slice(0, 2)).toEqual([0, 0])
  expect((await told()).contact).toMatchObject({ seq: 5 })
  expect((await told()).contact).not.toHaveProperty('failedCall')
})

test('a secondary stores no item of a new key term before the term itself', async () => {
  await pulled()
  const [keyring, record] = await east.store.read([key('keyring'), key('cluster')])
  if (!keyring || !record) throw new Error('no keyring')
  const { keyring: next } = await east.keyFactory.addNextTerm(keyring.data, east.turn.ms)
  const changes = replaceFollowerKeyring(record, keyring, next)
  const changed = setRecordKeyring(record.data, next).record
  await east.store.commit(changes, {
    record: changed,
    readAt: east.turn.ms,
  })
  east.cipher.expectKeyring(changed)
  const place = key('client-config', 'm')
  const secretKey = await east.cipher.encrypt(place, 'secretKey', 'of the new term')
  expect(secretKey.startsWith('2.')).toBe(true)
  await commit(east, [place, secretKey])
  const early: ConnectToPeer = peer => ({
    ...connect(peer),
    keyring: () => Promise.reject(new LinkSilent('not now')),
  })
  await pulled(early)
  expect(await west.journal.head()).toMatchObject({ last: 5, applied: 5 })
  await pulled()
  expect(await west.journal.head()).toMatchObject({ last: 6, applied: 6 })
  const [mine] = await west.store.read([key('cluster')])
  expect(mine?.data.term).toBe(2)
  west.cipher.expectKeyring(mine?.data ?? expect.unreachable())
  expect((await west.cipher.decrypt(place, 'secretKey', secretKey as EncryptedText)).reveal()).toBe(
    'of the new term',
  )
})

test('during a role change a run of the puller applies entries, but begins no sync', async () => {
  const operate = async (operation?: string) => {
    const [record] = await west.store.read([key('cluster')])
    if (!record) throw new Error('no record')
    const { operation: _, ...rest } = record.data
    const next = { ...rest, ...(operation === undefined ? {} : { operation }) }
    await west.store.commit([replaceItem(record, record, next)], { record: next, readAt: west.turn.ms })
  }
  await operate('another')
  await pulled()
  expect(await west.journal.head()).toMatchObject({ mode: 'syncing', incarnation: 1 })
  await operate()
  await pulled()
  await operate('another')
  await commit(east, [policyAt('later'), 'v'])
  await pulled()
  expect(await west.journal.head()).toMatchObject({ mode: 'applying', applied: 6 })
})

test('the puller stores the addresses that the primary reports', async () => {
  const moved: ConnectToPeer = peer => ({
    ...connect(peer),
    heartbeat: async request => ({
      ...(await connect(peer).heartbeat(request)),
      addresses: ['http://elsewhere'],
    }),
  })
  await pulled(moved)
  const [record] = await west.store.read([key('cluster')])
  expect(record?.data.link?.primaryAddrs).toEqual(['http://elsewhere'])
})

test('a waiting run of the puller takes over when the active run ends', async () => {
  const end = west.turn.ms + 5 * SECONDS
  await beingPulled(end)
  await pulled(connect, { waitsForLease: true })
  const { puller, contact } = await told()
  expect(puller?.runId).not.toBe('another run')
  expect(contact?.connectedSince).toBeGreaterThanOrEqual(end)
  expect(contact?.connectedSince).toBeLessThan(end + 3 * SECONDS)
})

test('a run of the puller that waits until its end changes nothing', async () => {
  await beingPulled(west.turn.ms + 60 * SECONDS)
  await pulled(connect, { waitsForLease: true })
  expect(await told()).toMatchObject({ puller: { runId: 'another run' }, contact: undefined })
})

test('the puller fetches given-up items once more after a recover request', async () => {
  await pulled()
  const [record] = await west.store.read([key('cluster')])
  if (!record) throw new Error('not initialised')
  const as = { record: record.data, readAt: west.turn.ms }
  const x = policyAt('p1')
  const [own] = await west.journal.readRaw([x])
  if (!own) throw new Error('nothing has come')
  // the item is in the state that a journal entry leaves which overwrites the item without comparing it
  await west.journal.transact([
    { kind: 'item', item: x, put: { ...own, rev: 'other' }, if: { rev: own.rev } },
  ])
  const { kind, pk, sk } = x
  const keys = [{ kind, pk, sk, rounds: 4, at: west.turn.ms }]
  const diverging = { treeId: west.treeId, link: record.data.link?.name ?? '', keys }
  const recovery = { at: west.turn.ms }
  await west.store.commit([putItem(key('diverging'), diverging), putItem(key('recovery'), recovery)], as)
  await pulled()
  expect(await west.store.read([key('recovery'), key('diverging')])).toEqual([undefined, undefined])
  expect((await everythingOf(west)).items).toEqual((await everythingOf(east)).items)
  expect(await west.journal.head()).toMatchObject({ mode: 'applying', unfinishedSync: null })
})
