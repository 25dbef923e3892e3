import { beforeAll, describe, expect, test } from 'vitest'
import { defaultClientSettings } from '../../../../shared/auth-method/config/client-settings.ts'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import { combineShares } from '../../../../shared/cluster/shares.ts'
import { putItem } from '../../../../shared/storage/changes.ts'
import { decryptField, deriveTermKeys, type TermKeys } from '../../../../shared/storage/encryption.ts'
import { openKeyringEnvelope } from '../../../../shared/storage/keyring.ts'
import { itemKindSpec, itemKinds, type Key, type Kind, key } from '../../../../shared/storage/kinds.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Recovery shares authorise and decrypt nothing, and a member with all its keys cannot make one.

const R = '/sys/replication/dr'
/** Returns the key that the shares of a set combine to. */
const keyOf = (shares: readonly string[]): Buffer => {
  const whole = combineShares(shares.slice(0, 3))
  if (!whole) throw new Error('shares of one key')
  return whole
}

/** Stores the recovery key itself, encrypted, in an item, which a real member never does. */
async function storeKey(set: ClusterSet, name: string): Promise<void> {
  const { ports, record, shares } = set.at(name)
  const { store, cipher, clock } = ports
  const [readAt, now] = [clock.now(), await record()]
  cipher.expectKeyring(now)
  const place = key('client-config', 'm')
  const secretKey = await cipher.encrypt(place, 'secretKey', keyOf(shares).toString('base64'))
  expect(
    await store.commit([putItem(place, { ...defaultClientSettings, secretKey })], { record: now, readAt }),
  ).toBe('done')
}

/** Returns all terms that a cluster holds, as a thief with its tables and its KMS key gets them. */
async function termsOf(set: ClusterSet, name: string): Promise<TermKeys[]> {
  const { ports, kms } = set.at(name)
  const [keyring] = await ports.store.read([key('keyring')])
  if (!keyring) throw new Error('no keyring')
  const keys = openKeyringEnvelope(await kms.unwrap(keyring.data), keyring.data.id, keyring.data.keys)
  return keys.terms.map(one => deriveTermKeys(one.number, Buffer.from(one.key, 'base64')))
}

/** Returns all texts in a value, including those in JSON texts; bytes become one character each. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value, ...(/^[[{]/.test(value) ? textsIn(JSON.parse(value)) : [])]
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('latin1')]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

const FIELDS = [
  ...new Set(
    (Object.keys(itemKinds) as Kind[])
      .flatMap(kind => Object.keys(itemKindSpec(kind).encrypted ?? {}))
      .map(path => path.split('.').at(-1) ?? ''),
  ),
]

interface Readable {
  raw: string[]
  opened: string[]
}

/** Returns all texts in items, and every text that a key term decrypts, for any place. */
function readableIn(
  items: readonly { pk: string; sk: string; content: unknown }[],
  terms: TermKeys[],
): Readable {
  const [raw, opened]: [string[], string[]] = [[], []]
  for (const { pk, sk, content } of items) {
    const texts = textsIn(content)
    raw.push(...texts)
    for (const text of texts.filter(one => /^\d+\.[\w-]{38,}$/.test(one)))
      for (const kind of Object.keys(itemKinds) as Kind[])
        opened.push(...FIELDS.flatMap(field => tryOpen(terms, { kind, pk, sk }, field, text)))
  }
  return { raw, opened }
}

function tryOpen(terms: readonly TermKeys[], at: Key, field: string, text: string): string[] {
  try {
    return [decryptField(terms, at, field, text as EncryptedText)]
  } catch {
    return []
  }
}

/** Returns everything that a cluster's tables and keys reveal, from items and from its journal. */
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

/** Reports whether a text contains a secret in any encoding. */
const shows = (texts: readonly string[], secrets: readonly Buffer[]): boolean =>
  secrets.some(secret =>
    (['hex', 'base64', 'base64url', 'latin1'] as const).some(notation =>
      texts.some(text => text.includes(secret.toString(notation).replace(/=+$/, ''))),
    ),
  )

/** Makes an operation token from shares. */
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
    'of %s contains neither the recovery key nor a share, decrypted with all its keys',
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

  test('contains a key that is stored encrypted, and this test’s search finds that key', async () => {
    await storeKey(set, 'east')
    const secrets = [keyOf(set.at('east').shares)]
    for (const { raw, opened } of Object.values(await everythingReadable(set, 'east')))
      expect([shows(raw, secrets), shows(opened, secrets)]).toEqual([false, true])
  })

  test('contains hashes that verify the holders’ shares', async () => {
    expect(await tokenOf(set, 'west', set.at('east').shares)).toMatch(/^hvs\./)
  })
})
