import { beforeEach, describe, expect, test } from 'vitest'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { itemPartitions, key } from '../../../../shared/storage/kinds.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Terms of the keyring while clusters change roles. Environments stay warm unless a test says otherwise,
// because a fresh environment reads the keyring again and would hide faults of a warm environment.

const R = '/sys/replication/dr'
const CLIENT = '/auth/cloud/config/client'

let from: Warm | undefined
let set: ClusterSet
let doing: ReturnType<typeof promotions>

beforeEach(async () => {
  from ??= await warmSnapshot({ memory: true, names: ['east', 'west'] })
  set = await clusterSet(['east', 'west'], { from, memory: true })
  doing = promotions(set)
})

const rotate = (name: string) => set.at(name).ok('POST', '/sys/rotate')
const batchToken = async (name: string): Promise<string> =>
  (await set.at(name).ok('POST', '/auth/token/create', { type: 'batch', policies: ['default'], ttl: '4h' }))
    .body.auth.client_token
const isGoodAt = async (name: string, token: string): Promise<boolean> =>
  (await set.at(name).request('GET', '/auth/token/lookup-self', undefined, { token })).status === 200
const storeSecret = (name: string, secret: string) =>
  set.at(name).ok('POST', CLIENT, { access_key: 'AKIA1', secret_key: secret })

/** Decrypts the stored credentials, as a login does. */
async function secretAt(name: string): Promise<string> {
  const { ports } = set.at(name)
  const [mounts] = await ports.store.read([key('mounts')])
  const cloud = mounts?.data.mounts.find(({ path }) => path === 'cloud')?.accessor ?? ''
  const place = key('client-config', cloud)
  const [config] = await ports.store.read([place])
  const text = config?.data.secretKey
  if (!text) return ''
  ports.cipher.expectKeyring(await set.at(name).record())
  return (await ports.cipher.decrypt(place, 'secretKey', text)).reveal()
}

const termsAt = async (name: string) =>
  (await set.at(name).ports.store.list(itemPartitions('term'))).map(({ sk, data }) => ({ id: sk, ...data }))
const keyringAt = async (name: string) => (await set.at(name).ports.store.read([key('keyring')]))[0]?.data

/** Makes one cluster primary and another cluster its secondary. */
async function switchTo(name: string, other: string, more: object = {}): Promise<void> {
  await doing.giveToken(name)
  const reply = await doing.promote(name, more)
  expect(reply.status, reply.text).toBe(200)
  await set.settled()
  await doing.follow(other, name)
  await set.converge()
}

describe('a key rotation', () => {
  test('is in the journal: the secondary gets the new term even if that term encrypted nothing yet', async () => {
    await rotate('east')
    await set.converge()
    const [here, there] = [await keyringAt('east'), await keyringAt('west')]
    expect(there?.activeTerm).toBe(here?.activeTerm)
    expect(there?.termIds).toEqual(here?.termIds)
    expect(await termsAt('west')).toEqual(await termsAt('east'))
    expect((await termsAt('west')).map(({ number }) => number).toSorted()).toEqual([1, 2])
  })

  test('is refused by an ended journal', async () => {
    const { ports } = set.at('east')
    const before = await keyringAt('east')
    await ports.journal.moveHead(headMoves.close(await set.at('east').head(), '', 0))
    expect((await set.at('east').request('POST', '/sys/rotate')).status).toBe(503)
    expect(await keyringAt('east')).toEqual(before)
  })

  test('followed at once by a prepared operation token: the token is valid on the secondary', async () => {
    await set.at('east').ok('POST', '/sys/policies/acl/failover', {
      policy: `path "${R.slice(1)}/secondary/promote" { capabilities = ["update"] }`,
    })
    await set.converge()
    await rotate('east')
    const { body } = await set.at('east').ok('POST', '/auth/token/create-orphan', {
      type: 'batch',
      policies: ['failover'],
      ttl: '8h',
      no_default_policy: true,
    })
    await set.at('west').pull()
    const reply = await set
      .at('west')
      .request(
        'POST',
        `${R}/secondary/promote`,
        { dr_operation_token: body.auth.client_token },
        { token: '' },
      )
    expect(reply.status, reply.text).toBe(200)
  })

  test('followed at once by a switch and back: no term is lost, and no two keys get the same term number', async () => {
    await storeSecret('east', 'before')
    await rotate('east')
    const token = await batchToken('east')
    await storeSecret('east', 'of the second term')
    await switchTo('west', 'east')
    expect([await isGoodAt('west', token), await secretAt('west')]).toEqual([true, 'of the second term'])
    await rotate('west')
    await storeSecret('west', 'of the third term')
    const later = await batchToken('west')
    await switchTo('east', 'west')
    expect(await secretAt('east')).toBe('of the third term')
    expect([await isGoodAt('east', token), await isGoodAt('east', later)]).toEqual([true, true])
    expect((await termsAt('east')).map(({ number }) => number).toSorted()).toEqual([1, 2, 3])
    await storeSecret('east', 'after all')
    await set.converge()
    expect([await secretAt('east'), await secretAt('west')]).toEqual(['after all', 'after all'])
    set.at('east').newMemory()
    expect(await secretAt('east')).toBe('after all')
  })
})

describe('credentials that are written between the steps', () => {
  test('after a rotation, a switch, another rotation, the switch back and a restart, the serving cluster decrypts all credentials', async () => {
    const written: string[] = []
    /** uses a mount of its own, so that the write re-encrypts nothing */
    const storeAt = async (name: string, step: string) => {
      await set.at(name).ok('POST', `/sys/auth/${step}`, { type: 'cloud' })
      const body = { access_key: 'AKIA1', secret_key: `secret of ${step}` }
      await set.at(name).ok('POST', `/auth/${step}/config/client`, body)
      written.push(step)
    }
    const openAt = async (name: string) => {
      const { ports, record } = set.at(name)
      ports.cipher.expectKeyring(await record())
      const [mounts] = await ports.store.read([key('mounts')])
      const opened = written.map(async step => {
        const mount = mounts?.data.mounts.find(({ path }) => path === step)?.accessor ?? ''
        const place = key('client-config', mount)
        const [config] = await ports.store.read([place])
        const text = config?.data.secretKey
        return text && (await ports.cipher.decrypt(place, 'secretKey', text)).reveal()
      })
      return Promise.all(opened)
    }
    const all = () => written.map(step => `secret of ${step}`)
    await storeAt('east', 'first')
    await rotate('east')
    await doing.giveToken('west')
    const there = await doing.promote('west')
    expect(there.status, there.text).toBe(200)
    await set.settled()
    await storeAt('west', 'after-the-switch')
    await rotate('west')
    await storeAt('west', 'of-the-third-term')
    await doing.follow('east', 'west')
    await set.converge()
    await rotate('west')
    await doing.giveToken('east')
    const back = await doing.promote('east')
    expect(back.status, back.text).toBe(200)
    await set.settled()
    await storeAt('east', 'after-the-return')
    expect(await openAt('east')).toEqual(all())
    for (const name of ['east', 'west']) set.at(name).newMemory()
    await storeAt('east', 'after-the-restart')
    expect(await openAt('east')).toEqual(all())
    await doing.follow('west', 'east')
    await set.converge()
    await switchTo('west', 'east')
    expect(await openAt('west')).toEqual(all())
  })
})

describe('two keys under one term number', () => {
  test('are held together once the clusters form one set again: the serving cluster decrypts fields that either key encrypted', async () => {
    await storeSecret('east', 'shared')
    await set.converge()
    set.cut('east', 'west')
    await doing.giveToken('west')
    await rotate('east')
    await storeSecret('east', 'only here')
    const lost = await batchToken('east')
    set.pass(90_000)
    expect((await doing.promote('west', { force: true })).status).toBe(200)
    await set.settled()
    await rotate('west')
    await storeSecret('west', 'of west')
    const kept = await batchToken('west')
    set.heal('east', 'west')
    for (let minutes = 0; minutes < 3; minutes++) {
      set.pass(60_000)
      await set.tick()
      await set.settled()
    }
    await doing.follow('east', 'west')
    await set.converge()
    // warm and fresh environments continue with the new primary's term
    expect(await secretAt('east')).toBe('of west')
    await switchTo('east', 'west')
    expect(await secretAt('east')).toBe('of west')
    // the lost entries include the term that signed the other token, and its signer
    expect([await isGoodAt('east', kept), await isGoodAt('east', lost)]).toEqual([true, false])
    await storeSecret('east', 'in the end')
    await set.converge()
    expect([await secretAt('east'), await secretAt('west')]).toEqual(['in the end', 'in the end'])
    await rotate('east')
    await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id: 'another' })
  })
})

describe('a secondary without a new term', () => {
  test('stages no entry of that term; a promotion is refused and names the term, and a forced promotion warns of undecryptable items', async () => {
    await rotate('east')
    const withheld = (await keyringAt('east'))?.activeTerm ?? ''
    set.trap({ cluster: 'west', process: 'on-pull', step: 'Keyring', at: 1, when: 'before', does: 'dies' })
    const { last } = await set.at('west').head()
    await set
      .at('west')
      .pull()
      .catch(() => undefined)
    expect((await set.at('west').head()).last).toBe(last)
    expect((await keyringAt('west'))?.termIds).not.toContain(withheld)
    // from here on the primary is gone
    await doing.giveToken('west')
    set.cut('east', 'west')
    set.pass(120_000)
    const place = key('contact')
    const [contact] = await set.at('west').ports.store.read([place])
    expect(contact?.data.term).toBe(withheld)
    const refused = await doing.promote('west')
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining(`the key term ${withheld}`)])
    const forced = await doing.promote('west', { force: true })
    expect([forced.status, String(forced.body.warnings)]).toEqual([
      200,
      expect.stringContaining(`overridden by force: this cluster does not have the key term ${withheld}`),
    ])
  })
})

describe('a term whose key arrived, and whose item was lost with the primary', () => {
  test('gets a new signer at the take-over: the new primary’s batch tokens are valid, the former primary’s batch tokens are not', async () => {
    await rotate('east')
    const lost = await batchToken('east')
    set.trap({ cluster: 'west', process: 'on-pull', step: 'Entries', at: 1, when: 'before', does: 'dies' })
    await set
      .at('west')
      .pull()
      .catch(() => undefined)
    const { activeTerm = '' } = (await keyringAt('west')) ?? {}
    expect(activeTerm).toBe((await keyringAt('east'))?.activeTerm)
    expect((await termsAt('west')).map(({ id }) => id)).not.toContain(activeTerm)
    await doing.giveToken('west')
    set.cut('east', 'west')
    set.pass(120_000)
    expect((await doing.promote('west', { force: true })).status).toBe(200)
    await set.settled()
    const made = await batchToken('west')
    expect([await isGoodAt('west', made), await isGoodAt('west', lost)]).toEqual([true, false])
  })
})

describe('a cluster’s own keys across roles', () => {
  test('primary, disabled, secondary of another set, promoted: the cluster holds the key of its activation tokens', async () => {
    // makes two sets that have never shared a key
    set = await clusterSet(['east', 'west'], { memory: true })
    doing = promotions(set)
    await set.enable('east')
    await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id: 'unused' })
    await set.at('east').ok('POST', `${R}/primary/disable`)
    await set.settled()
    set.pass(60_000)
    await set.enable('west')
    await set.join('east', 'west')
    await set.converge()
    await switchTo('east', 'west')
    await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id: 'third' })
    await storeSecret('east', 'of the new life')
    await set.converge()
    expect([await secretAt('east'), await secretAt('west')]).toEqual(['of the new life', 'of the new life'])
  })

  test('disabled, then enabled into the same set: warm environments do not use the deleted key', async () => {
    await doing.giveToken('west')
    await set.at('west').ok('POST', `${R}/secondary/disable`, { dr_operation_token: OPERATION_TOKEN })
    await set.settled()
    await storeSecret('west', 'of its own')
    const own = await keyringAt('west')
    await set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: 'west' })
    set.pass(60_000)
    await set.join('west', 'east', 'west-again')
    await set.converge()
    expect((await keyringAt('west'))?.termIds).not.toContain(own?.activeTerm)
    await switchTo('west', 'east')
    await set.at('west').ok('POST', `${R}/primary/secondary-token`, { id: 'third' })
    await storeSecret('west', 'after the return')
    await set.converge()
    for (const name of ['east', 'west']) set.at(name).newMemory()
    expect([await secretAt('east'), await secretAt('west')]).toEqual(['after the return', 'after the return'])
  })
})

test('a former primary that rotates: its warm environment encrypts with the new term', async () => {
  const { record, request } = set.at('east')
  for (let terms = 0; terms < 3; terms++) await rotate('east')
  await storeSecret('east', 'before')
  const old = await batchToken('east')
  const { keyringEdition, term } = await record()
  await set.at('east').ok('POST', `${R}/primary/disable`)
  await set.settled()
  expect(await record()).toMatchObject({ mode: 'disabled', keyringEdition, term })
  await set.at('east').ok('POST', '/sys/rotate', { retire: true })
  expect(await record()).toMatchObject({ keyringEdition: keyringEdition + 1, term: term + 1 })
  const token = await batchToken('east')
  expect([await isGoodAt('east', old), await isGoodAt('east', token), await secretAt('east')]).toEqual([
    false,
    true,
    'before',
  ])
  expect((await request('GET', '/sys/key-status')).body.data.older_terms).toHaveLength(term)
})
