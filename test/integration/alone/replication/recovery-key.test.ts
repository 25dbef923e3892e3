import { beforeAll, describe, expect, test } from 'vitest'
import { unmasked } from '../../../../shared/ceremony/encode.ts'
import { combineShares } from '../../../../shared/cluster/shares.ts'
import { FORMAT } from '../../../../shared/link/source.ts'
import { isVerified } from '../../../../shared/model/cluster.ts'
import { replace } from '../../../../shared/storage/changes.ts'
import { decryptField, type TermKeys, termOf } from '../../../../shared/storage/encryption.ts'
import { openEnvelope } from '../../../../shared/storage/keyring.ts'
import { type Key, type Kind, key, kinds, specOf } from '../../../../shared/storage/kinds.ts'
import type { Encrypted } from '../../../../shared/values/secret.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import { versionOf } from '../../../support/set/versions.ts'

// Recovery shares authorise and decrypt nothing: what a member has, with all its keys, makes no share.

const R = '/sys/replication/dr'
const place = key('recovery-key')

/** The key that the shares of a set make. */
const keyOf = (shares: readonly string[]): Buffer => {
  const whole = combineShares(shares.slice(0, 3))
  if (!whole) throw new Error('shares of one key')
  return whole
}

/** Puts the key itself into its item, as versions before format 3 did. */
async function storeKey(set: ClusterSet, name: string): Promise<void> {
  const { ports, record, shares } = set.at(name)
  const { store, cipher, clock } = ports
  const [readAt, now, [stored]] = [clock.now(), await record(), await store.read([place])]
  if (!stored) throw new Error('no recovery key')
  cipher.expect(now)
  const { threshold } = stored.data
  const text = await cipher.encrypt(place, 'key', keyOf(shares).toString('base64'))
  const change = replace(stored, stored, { shares: shares.length, threshold, key: text })
  expect(await store.commit([change], { record: now, readAt })).toBe('done')
}

const storedIn = async (set: ClusterSet, name: string) => {
  const [stored] = await set.at(name).ports.store.read([place])
  if (!stored) throw new Error('no recovery key')
  return stored.data
}

/** All terms that a cluster holds, as who has its tables and the use of its KMS key takes them. */
async function termsOf(set: ClusterSet, name: string): Promise<TermKeys[]> {
  const { ports, kms } = set.at(name)
  const [keyring] = await ports.store.read([key('keyring')])
  if (!keyring) throw new Error('no keyring')
  const keys = openEnvelope(await kms.unwrap(keyring.data), keyring.data.id, keyring.data.keys)
  return keys.terms.map(one => termOf(one.number, Buffer.from(one.key, 'base64')))
}

/** Texts in a value, in texts that are JSON too; what a table has as bytes is one character each. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value, ...(/^[[{]/.test(value) ? textsIn(JSON.parse(value)) : [])]
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('latin1')]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

const FIELDS = [
  ...new Set(
    (Object.keys(kinds) as Kind[])
      .flatMap(kind => Object.keys(specOf(kind).encrypted ?? {}))
      .map(path => path.split('.').at(-1) ?? ''),
  ),
]

interface Readable {
  raw: string[]
  opened: string[]
}

/** What stands in items, and whatever in it opens by one of some terms, in any place that it may have been encrypted for. */
function readableIn(
  items: readonly { pk: string; sk: string; content: unknown }[],
  terms: TermKeys[],
): Readable {
  const [raw, opened]: [string[], string[]] = [[], []]
  for (const { pk, sk, content } of items) {
    const texts = textsIn(content)
    raw.push(...texts)
    for (const text of texts.filter(one => /^\d+\.[\w-]{38,}$/.test(one)))
      for (const kind of Object.keys(kinds) as Kind[])
        opened.push(...FIELDS.flatMap(field => tryOpen(terms, { kind, pk, sk }, field, text)))
  }
  return { raw, opened }
}

function tryOpen(terms: readonly TermKeys[], at: Key, field: string, text: string): string[] {
  try {
    return [decryptField(terms, at, field, text as Encrypted)]
  } catch {
    return []
  }
}

/** All that can be read with the tables of a cluster and its keys: of items as they stand, and of those in its journal. */
async function everythingReadable(set: ClusterSet, name: string) {
  const terms = await termsOf(set, name)
  const tables = (await set.snapshot()).members.find(one => one.name === name)?.items
  const stored = Object.values(tables ?? {}).flat()
  const items = stored.map(content => ({ pk: content['pk']?.S ?? '', sk: content['sk']?.S ?? '', content }))
  const { ports } = set.at(name)
  const { lineage, last } = await set.at(name).head()
  const entries = await ports.journal.entries(lineage, 0, last)
  const inEntries = entries.flatMap(entry =>
    (entry?.body ?? []).map(({ pk, sk, item }) => ({ pk, sk, content: item })),
  )
  return { items: readableIn(items, terms), journal: readableIn(inEntries, terms) }
}

/** Whether one of some texts has one of some secrets, in any notation. */
const shows = (texts: readonly string[], secrets: readonly Buffer[]): boolean =>
  secrets.some(secret =>
    (['hex', 'base64', 'base64url', 'latin1'] as const).some(notation =>
      texts.some(text => text.includes(secret.toString(notation).replace(/=+$/, ''))),
    ),
  )

/** A token for operations, from shares of holders. */
async function tokenOf(set: ClusterSet, name: string, shares: readonly string[]): Promise<string> {
  const path = `${R}/secondary/generate-operation-token`
  const anonymous = { token: '' }
  set.pass(60_000)
  const { nonce, otp } = (await set.at(name).ok('PUT', `${path}/attempt`, {}, anonymous)).body
  let encoded = ''
  for (const share of shares.slice(0, 3))
    encoded = (await set.at(name).ok('PUT', `${path}/update`, { nonce, key: share }, anonymous)).body
      .encoded_token
  return unmasked(encoded, otp) ?? ''
}

describe('a stolen copy of a member', () => {
  let set: ClusterSet
  beforeAll(async () => {
    set = await clusterSet(['east', 'west'], { memory: true })
    await set.enable('east')
    await set.join('west', 'east')
    await set.at('east').ok('POST', '/sys/rotate')
    await set.converge()
  })

  test.each(['east', 'west'])(
    'of %s has neither the recovery key nor a share in anything that its keys open',
    async name => {
      const { shares } = set.at('east')
      const secrets = [keyOf(shares), ...shares.map(share => Buffer.from(share, 'hex'))]
      const { items, journal } = await everythingReadable(set, name)
      expect([items.raw.length > 100, items.opened.length >= 3, journal.raw.length > 20]).toEqual([
        true,
        true,
        true,
      ])
      for (const { raw, opened } of [items, journal]) expect(shows([...raw, ...opened], secrets)).toBe(false)
    },
  )

  test('has it where an earlier version stored it: this search finds it', async () => {
    await storeKey(set, 'east')
    const secrets = [keyOf(set.at('east').shares)]
    for (const { raw, opened } of Object.values(await everythingReadable(set, 'east')))
      expect([shows(raw, secrets), shows(opened, secrets)]).toEqual([false, true])
  })

  test('has it in its journal alone once the primary has given it up, and the shares of the holders are good', async () => {
    await set.tick()
    await set.converge()
    const secrets = [keyOf(set.at('east').shares)]
    for (const name of ['east', 'west']) {
      const { items, journal } = await everythingReadable(set, name)
      // until its journal entries age out
      expect([shows(items.opened, secrets), shows(journal.opened, secrets)]).toEqual([false, true])
    }
    expect(await tokenOf(set, 'west', set.at('east').shares)).toMatch(/^hvs\./)
  })

  test('may be of a time when it was there: the revocation says so, and what ends it; readiness too', async () => {
    const ready = await set.at('east').ok('GET', `${R}/readiness`)
    expect(ready.body.data.recovery).toMatchObject({ rekey_needed: true })
    const { body } = await set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: 'west' })
    expect(body.warnings).toContainEqual(
      expect.stringMatching(/may know the recovery key.*rekey-recovery-key/),
    )
  })
})

describe('a set that never stored the key', () => {
  test('has nothing to warn of when a secondary is revoked', async () => {
    const set = await clusterSet(['east', 'west'], { memory: true })
    await set.enable('east')
    await set.join('west', 'east')
    const { body } = await set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: 'west' })
    expect(JSON.stringify(body.warnings)).not.toContain('recovery key')
  })
})

describe('a cluster of an earlier version', () => {
  test('without replication gives the key up within a minute, and says so', async () => {
    const set = await clusterSet(['alone'], { memory: true })
    await storeKey(set, 'alone')
    await set.tick()
    expect(await storedIn(set, 'alone')).toMatchObject({
      shares: 5,
      threshold: 3,
      verifier: expect.anything(),
    })
    expect(JSON.stringify(set.at('alone').told)).toContain('the recovery key is not stored any more')
  })

  test('in a set keeps it until every secondary has been upgraded, who could not read what comes instead', async () => {
    const later = await versionOf(FORMAT + 1)
    const upgraded = new Set(['east'])
    const madeBy = (name: string) => (upgraded.has(name) ? later : undefined)
    const again = async (from: ClusterSet) => {
      await from.settled()
      return clusterSet(['east', 'west'], { memory: true, from: await from.snapshot(), madeBy })
    }
    let set = await clusterSet(['east', 'west'], { memory: true })
    await set.enable('east')
    await set.join('west', 'east')
    await set.converge()
    await storeKey(set, 'east')
    set = await again(set)
    for (let minutes = 0; minutes < 3; minutes++) {
      await set.tick()
      set.pass(60_000)
    }
    expect(isVerified(await storedIn(set, 'east'))).toBe(false)
    upgraded.add('west')
    set = await again(set)
    for (let minutes = 0; minutes < 2; minutes++) {
      await set.converge()
      set.pass(60_000)
    }
    expect((await Promise.all(['east', 'west'].map(name => storedIn(set, name)))).map(isVerified)).toEqual([
      true,
      true,
    ])
    expect(await tokenOf(set, 'west', set.at('east').shares)).toMatch(/^hvs\./)
  })
})
