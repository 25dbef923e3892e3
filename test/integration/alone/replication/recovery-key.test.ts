import { beforeAll, describe, expect, test } from 'vitest'
import { defaultSettings } from '../../../../shared/auth-method/config/client-settings.ts'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import { combineShares } from '../../../../shared/cluster/shares.ts'
import { put } from '../../../../shared/storage/changes.ts'
import { decryptField, deriveTermKeys, type TermKeys } from '../../../../shared/storage/encryption.ts'
import { openEnvelope } from '../../../../shared/storage/keyring.ts'
import { type Key, type Kind, key, kinds, specOf } from '../../../../shared/storage/kinds.ts'
import type { Encrypted } from '../../../../shared/values/secret.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Recovery shares authorise and decrypt nothing: what a member has, with all its keys, makes no share.

const R = '/sys/replication/dr'
/** The key that the shares of a set make. */
const keyOf = (shares: readonly string[]): Buffer => {
  const whole = combineShares(shares.slice(0, 3))
  if (!whole) throw new Error('shares of one key')
  return whole
}

/** Stores the key itself, encrypted, in an item of its own: what must stand nowhere. */
async function storeKey(set: ClusterSet, name: string): Promise<void> {
  const { ports, record, shares } = set.at(name)
  const { store, cipher, clock } = ports
  const [readAt, now] = [clock.now(), await record()]
  cipher.expectKeyring(now)
  const place = key('client-config', 'm')
  const secretKey = await cipher.encrypt(place, 'secretKey', keyOf(shares).toString('base64'))
  expect(await store.commit([put(place, { ...defaultSettings, secretKey })], { record: now, readAt })).toBe(
    'done',
  )
}

/** All terms that a cluster holds, as who has its tables and the use of its KMS key takes them. */
async function termsOf(set: ClusterSet, name: string): Promise<TermKeys[]> {
  const { ports, kms } = set.at(name)
  const [keyring] = await ports.store.read([key('keyring')])
  if (!keyring) throw new Error('no keyring')
  const keys = openEnvelope(await kms.unwrap(keyring.data), keyring.data.id, keyring.data.keys)
  return keys.terms.map(one => deriveTermKeys(one.number, Buffer.from(one.key, 'base64')))
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
  return unmaskToken(encoded, otp) ?? ''
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

  test('has it where it is stored encrypted: this search finds it', async () => {
    await storeKey(set, 'east')
    const secrets = [keyOf(set.at('east').shares)]
    for (const { raw, opened } of Object.values(await everythingReadable(set, 'east')))
      expect([shows(raw, secrets), shows(opened, secrets)]).toEqual([false, true])
  })

  test('has hashes by which the shares of the holders are taken', async () => {
    expect(await tokenOf(set, 'west', set.at('east').shares)).toMatch(/^hvs\./)
  })
})
