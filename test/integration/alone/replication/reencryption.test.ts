import { beforeEach, describe, expect, test } from 'vitest'
import { defaultTidySettings, tidyTimes } from '../../../../shared/auth-method/tidy/settings.ts'
import type { AccessEntry } from '../../../../shared/model/access-entry.ts'
import { createItem, putItem } from '../../../../shared/storage/changes.ts'
import { listEncryptedKinds } from '../../../../shared/storage/encrypted-kinds.ts'
import { findEncryptedFields } from '../../../../shared/storage/encrypted-paths.ts'
import { decryptFieldWithTerms, deriveTermKeys, termNumberOf } from '../../../../shared/storage/encryption.ts'
import { type KeyringKeys, openKeyringEnvelope } from '../../../../shared/storage/keyring.ts'
import { itemPartitions, type Key, key } from '../../../../shared/storage/kinds.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { sized } from '../../../support/runner/size.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { deathsAtEachCall } from '../../../support/set/scenes.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// After a rotation, all fields are re-encrypted in warm environments, and finally the older term is
// destroyed.

const R = '/sys/replication/dr'
const DAY = 86_400_000
const names = ['east', 'west'] as const
const NONCES = 25

let from: Warm | undefined
let set: ClusterSet
let doing: ReturnType<typeof promotions>

beforeEach(async () => {
  from ??= await filledSnapshot()
  set = await clusterSet(names, { from, memory: true, aws: true })
  doing = promotions(set)
})

/** Makes a pair of clusters with a secret of every kind in their tables. */
async function filledSnapshot(): Promise<Warm> {
  const warm = await warmSnapshot({ memory: true, names })
  const filling = await clusterSet(names, { from: warm, memory: true })
  const { ok, ports, record } = filling.at('east')
  await ok('POST', '/auth/cloud/config/client', { access_key: 'AKIA1', secret_key: 'a secret key' })
  for (const name of ['a', 'b'])
    await ok('POST', `/auth/cloud/role/${name}`, {
      auth_type: 'ec2',
      bound_account_id: '111122223333',
      role_tag: 'T',
    })
  await ok('POST', '/sys/wrapping/wrap', { a: 'b' }, { headers: { 'x-vault-wrap-ttl': '2000000' } })
  await ok('POST', `${R}/primary/secondary-token`, { id: 'another' })
  await ok('GET', `${R}/status`)
  const [mounts] = await ports.store.read([key('mounts')])
  const cloud = mounts?.data.mounts.find(({ path }) => path === 'cloud')?.accessor ?? ''
  for (let index = 0; index < NONCES; index++) {
    const place = key('access', cloud, `i-${index}`)
    const clientNonce = await ports.cipher.encrypt(place, 'clientNonce', `nonce ${index}`)
    const expiresAt = filling.clock.now() + 100 * DAY
    const entry = { clientNonce, role: 'a', expiresAt } as AccessEntry
    const times = tidyTimes(expiresAt, defaultTidySettings)
    await ports.store.commit([createItem(place, entry, times)], {
      record: await record(),
      readAt: ports.clock.now(),
    })
  }
  await filling.converge()
  const snapshot = { ...(await filling.snapshot()), operator: warm.operator }
  await filling.drop()
  return snapshot
}

/** Returns the unexpired items of the replicated table. */
async function itemsAt(name: string): Promise<StoredItem[]> {
  const { journal } = set.at(name).ports
  const found: StoredItem[] = []
  for (let from: { pk: string; sk: string } | undefined; ; ) {
    const page = await journal.scan({ index: 0, of: 1, from })
    found.push(
      ...page.items.filter(({ expires = Number.MAX_SAFE_INTEGER }) => expires * 1000 > set.clock.now()),
    )
    if (!page.next) return found
    from = page.next
  }
}

interface Place {
  place: Key
  field: string
  text: EncryptedText
}

/** Returns all encrypted texts that re-encryption covers: replicated texts and the cluster's own texts. */
async function textsAt(name: string): Promise<Place[]> {
  const paths = new Map<string, string[]>(
    listEncryptedKinds(['reencrypt', 'renew']).map(({ kind, paths }) => [kind, paths]),
  )
  const own = await set.at(name).ports.store.read([key('cluster'), key('token-key'), key('pending-key')])
  return [...(await itemsAt(name)), ...own].flatMap(item =>
    item
      ? findEncryptedFields(paths.get(item.kind) ?? [], item.data).map(({ field, text }) => ({
          place: { kind: item.kind, pk: item.pk, sk: item.sk },
          field,
          text,
        }))
      : [],
  )
}

const numbersAt = async (name: string): Promise<number[]> =>
  [...new Set((await textsAt(name)).map(({ text }) => termNumberOf(text) ?? 0))].toSorted()

/** Returns all keys that a cluster holds. */
async function keysOf(name: string): Promise<KeyringKeys> {
  const keyring = await keyringAt(name)
  return openKeyringEnvelope(await set.at(name).kms.unwrap(keyring), keyring.id, keyring.keys)
}

/** Counts the encrypted texts of a cluster that the keys of a keyring decrypt. */
async function openedBy({ terms }: KeyringKeys, name: string): Promise<number> {
  const held = terms.map(one => deriveTermKeys(one.number, Buffer.from(one.key, 'base64')))
  return (await textsAt(name)).filter(({ place, field, text }) =>
    decryptFieldWithTerms(held, place, field, text),
  ).length
}

const minutes = async (count: number): Promise<void> => {
  for (let minute = 0; minute < count; minute++) {
    set.pass(60_000)
    await set.tick()
    await set.settled()
  }
}

const rotate = (name = 'east', more = {}) => set.at(name).ok('POST', '/sys/rotate', more)
const statusAt = async (name: string) => (await set.at(name).ok('GET', '/sys/key-status')).body.data
const eventsAt = (name: string) =>
  set
    .at(name)
    .audited.map(entry => entry as { event?: string })
    .flatMap(({ event }) => (event ? [event] : []))
const keyringAt = async (name: string) => {
  const [keyring] = await set.at(name).ports.store.read([key('keyring')])
  if (!keyring) throw new Error('no keyring')
  return keyring.data
}
const heldAt = async (name: string) => (await keyringAt(name)).termIds ?? []

/** Decrypts every text that a cluster must be able to decrypt, as its functions do. */
async function everythingOpens(name: string): Promise<void> {
  const { ports, record } = set.at(name)
  ports.cipher.expectKeyring(await record())
  for (const { place, field, text } of await textsAt(name))
    expect((await ports.cipher.decrypt(place, field, text)).reveal()).not.toBe('')
}

describe('after a rotation', () => {
  test('the new term encrypts everything stored, on primary and secondary', async () => {
    expect(await numbersAt('east')).toEqual([1])
    const texts = await textsAt('east')
    expect(new Set(texts.map(({ place, field }) => `${place.kind} ${field}`))).toEqual(
      new Set([
        'access clientNonce',
        'client-config secretKey',
        'cluster ownKey',
        'role hmacKey',
        'token-key key',
        'wrapped response',
      ]),
    )
    await rotate()
    await minutes(3)
    await set.converge()
    expect(await numbersAt('east')).toEqual([2])
    expect(await numbersAt('west')).toEqual([2])
    expect(await textsAt('east')).toHaveLength(texts.length)
    for (const name of names) await everythingOpens(name)
    const [old] = (await keysOf('east')).terms
    expect(await openedBy({ fixed: '', terms: old ? [old] : [], activeTerm: '' }, 'east')).toBe(0)
    const { reencryption, older_terms } = await statusAt('east')
    expect(reencryption).toMatchObject({
      state: 'done',
      term: 2,
      own_keys_done: true,
      written: NONCES + 4,
      left: 0,
    })
    expect(older_terms).toHaveLength(1)
    expect(older_terms[0].waits_for).toEqual([expect.stringMatching(/^the key term is kept until /)])
    expect(eventsAt('east')).toContain('reencrypted')
    // the secondary has re-encrypted its own keys and reported it
    expect((await set.at('west').record()).ownTerm).toBe((await keyringAt('west')).activeTerm)
  })

  test('nothing is re-encrypted for half a minute, while environments may still encrypt with the older term', async () => {
    await rotate()
    set.pass(29_000)
    await set.tick()
    await set.settled()
    expect(await numbersAt('east')).toEqual([1])
    expect((await statusAt('east')).reencryption.state).toBe('waiting')
  })

  test('entries keep their expiry times, and the tree covers the rewritten items', async () => {
    const timesOf = async (name: string) =>
      (await itemsAt(name))
        .filter(({ kind }) => kind === 'access' || kind === 'wrapped')
        .map(({ pk, sk, due, expires }) => ({ pk, sk, due, expires }))
        .toSorted((a, b) => (a.sk < b.sk ? -1 : 1))
    const before = await timesOf('east')
    expect(before).toHaveLength(NONCES + 1)
    await rotate()
    await minutes(3)
    await set.converge()
    expect(await timesOf('east')).toEqual(before)
    expect(await timesOf('west')).toEqual(before)
    for (const name of names) {
      const { kept, right } = await set.everything(name)
      expect(kept).toEqual(right)
    }
  })

  test.each([1, 2, 3, 4])('a request’s write after the %i. scan of the table is kept', async at => {
    await rotate()
    set.pass(60_000)
    const { reached, thaw } = set.freezeAt({
      cluster: 'east',
      process: 'on-job',
      step: 'Scan',
      at,
      when: 'after',
    })
    const ticking = set.tick()
    await reached
    await set
      .at('east')
      .ok('POST', '/auth/cloud/config/client', { access_key: 'AKIA2', secret_key: 'another' })
    await set.at('east').ok('POST', '/auth/cloud/role/b', { role_tag: 'U' })
    thaw()
    await ticking
    await set.settled()
    await minutes(3)
    await set.converge()
    expect(await numbersAt('east')).toEqual([2])
    const [config] = (await textsAt('east')).filter(({ field }) => field === 'secretKey')
    if (!config) throw new Error('there is no secret key')
    const { cipher } = set.at('east').ports
    expect((await cipher.decrypt(config.place, config.field, config.text)).reveal()).toBe('another')
    expect((await set.at('east').ok('GET', '/auth/cloud/role/b')).body.data.role_tag).toBe('U')
  })

  test('a field that no term decrypts is reported, and the re-encryption continues', async () => {
    const { ports, record } = set.at('east')
    const [mounts] = await ports.store.read([key('mounts')])
    const cloud = mounts?.data.mounts.find(({ path }) => path === 'cloud')?.accessor ?? ''
    const place = key('role', cloud, 'a')
    const [role] = await ports.store.read([place])
    if (!role) throw new Error('there is no role')
    const broken = { ...role.data, hmacKey: `1.${'A'.repeat(60)}` as EncryptedText }
    await ports.store.commit([putItem(place, broken)], { record: await record(), readAt: ports.clock.now() })
    await rotate()
    await minutes(3)
    const { reencryption } = await statusAt('east')
    expect(reencryption).toMatchObject({
      state: 'done',
      unreadable: { count: 1, names: [`role ${place.pk} a`] },
    })
  })

  test('a cluster that has left its set re-encrypts everything with its own term', async () => {
    await doing.giveToken('west')
    await set.at('west').ok('POST', `${R}/secondary/disable`, { dr_operation_token: OPERATION_TOKEN })
    await minutes(5)
    expect((await set.at('west').record()).mode).toBe('disabled')
    expect(await numbersAt('west')).toEqual([2])
    await everythingOpens('west')
    expect((await statusAt('west')).reencryption).toMatchObject({ state: 'done' })
  })
})

test('a promotion during re-encryption: the new primary continues, and the new term alone decrypts every field', async () => {
  await doing.giveToken('west')
  await rotate()
  await set.converge()
  set.pass(60_000)
  const { reached, thaw } = set.freezeAt({
    cluster: 'east',
    process: 'on-job',
    step: 'Scan',
    at: 3,
    when: 'before',
  })
  const ticking = set.tick()
  await reached
  await ticking
  await set.at('west').pull()
  expect(await numbersAt('west')).toEqual([1, 2])
  const reply = await doing.promote('west')
  expect(reply.status, reply.text).toBe(200)
  thaw()
  await set.settled()
  await minutes(4)
  expect(await numbersAt('west')).toEqual([2])
  await everythingOpens('west')
  expect((await statusAt('west')).reencryption).toMatchObject({ state: 'done', term: 2 })
})

describe('a key term that encrypts no stored field any more', () => {
  const after35days = async () => {
    set.pass(36 * DAY)
    await minutes(4)
    await set.converge()
  }
  const destroyedAt = async (name: string) =>
    (await set.at(name).ports.store.list(itemPartitions('term'))).filter(
      ({ data }) => data.destroyed !== undefined,
    ).length

  test('is destroyed 35 days later on every cluster, and a copy of the term decrypts nothing that is stored', async () => {
    const thief = await keysOf('west')
    await rotate()
    await minutes(3)
    await set.converge()
    set.pass(34 * DAY)
    await minutes(3)
    expect(await destroyedAt('east')).toBe(0)
    set.pass(2 * DAY)
    await minutes(4)
    await set.converge()
    expect([await destroyedAt('east'), await destroyedAt('west')]).toEqual([1, 1])
    for (const name of names) {
      expect(await heldAt(name)).toHaveLength(1)
      expect((await keysOf(name)).terms).toHaveLength(1)
      expect(await openedBy(thief, name)).toBe(0)
      await everythingOpens(name)
      expect(eventsAt(name)).toContain('terms-dropped')
    }
    expect(eventsAt('east')).toContain('terms-destroyed')
    const { older_terms } = await statusAt('east')
    expect(older_terms).toMatchObject([{ term: 1, held: false, waits_for: [] }])
    expect(older_terms[0].destroyed_time).not.toBe('')
  })

  test('is kept while a secondary is disconnected, which key-status names', async () => {
    await rotate()
    set.cut('east', 'west')
    for (let rounds = 0; rounds < 2; rounds++) {
      set.pass(36 * DAY)
      await minutes(3)
    }
    expect(await destroyedAt('east')).toBe(0)
    expect((await statusAt('east')).older_terms[0].waits_for).toEqual([
      'the secondary west has not reported that its data and its own keys are re-encrypted',
    ])
    set.heal('east', 'west')
    await minutes(4)
    expect(await destroyedAt('east')).toBe(1)
  })

  test('is destroyed without waiting for a revoked secondary', async () => {
    await rotate()
    set.cut('east', 'west')
    await set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: 'west' })
    set.pass(36 * DAY)
    await minutes(4)
    set.pass(36 * DAY)
    await minutes(4)
    expect(await destroyedAt('east')).toBe(1)
  })

  test('is not needed by a cluster that is promoted afterwards and rotates', async () => {
    await rotate()
    await minutes(3)
    await set.converge()
    await after35days()
    await doing.giveToken('west')
    expect((await doing.promote('west')).status).toBe(200)
    await set.settled()
    await rotate('west')
    await minutes(3)
    expect(await numbersAt('west')).toEqual([3])
    await everythingOpens('west')
  })
})

test('re-encryption runs that die at any call are continued: no item is lost, and every field is re-encrypted', async () => {
  const deaths = await deathsAtEachCall(
    from as Warm,
    {
      who: { cluster: 'east', process: 'on-job' },
      before: async one => {
        await one.at('east').ok('POST', '/sys/rotate')
        one.pass(40_000)
      },
      act: async one => {
        await one.tick()
        await one.settled()
      },
      holds: async one => {
        set = one
        await set.converge()
        expect(await numbersAt('east')).toEqual([2])
        expect(await numbersAt('west')).toEqual([2])
        await everythingOpens('east')
        expect((await statusAt('east')).reencryption.state).toBe('done')
      },
    },
    sized(9, 1),
  )
  expect(deaths).toBeGreaterThan(3)
})
