import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import { readActivationClaims } from '../../../../shared/link/activation-token.ts'
import { makePendingLinkKey } from '../../../../shared/link/admin/keys.ts'
import { generateLinkKeyPairs, parseLinkPublicKeys } from '../../../../shared/link/pair.ts'
import { type ClusterMode, type ClusterRecord, createEmptyLink } from '../../../../shared/model/cluster.ts'
import {
  auditReplacement,
  generateLinkPublicKey,
  makeSecondaryToken,
  prepareSecondaryToken,
} from '../../../../shared/replication/handlers/secondaries.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { type EncryptedText, Secret } from '../../../../shared/values/secret.ts'
import { clusterRecord, secondaryItem as secondary } from '../../../builders/cluster-record.ts'
import { callWith, fetchedItems } from '../../../support/requests/call.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const NOW = 1_700_000_000_500
/** A cipher that encrypts nothing. */
const cipher = {
  encrypt: async (_: unknown, __: string, text: string) => text as EncryptedText,
  decrypt: async (_: unknown, __: string, text: string) => new Secret(text),
}
const around = { cipher, entropy: { bytes: randomBytes, uuid: randomUUID } }

const record = (mode: ClusterMode, parts: Partial<ClusterRecord> = {}): ClusterRecord =>
  clusterRecord({
    id: 'c-1',
    name: 'east',
    mode,
    set: 'set-1',
    epoch: '000001.c',
    link: createEmptyLink(generateLinkKeyPairs(randomBytes) as EncryptedText),
    ...parts,
  })

interface World {
  mode?: ClusterMode
  items?: Item[]
  deployment?: object
  parts?: Partial<ClusterRecord>
}

/** Calls an endpoint of the primary. Returns the answer, further audit entries, and the changes. */
async function callOf(
  given: Record<string, unknown>,
  { mode = 'primary', items = [], deployment, parts }: World = {},
) {
  const { store } = memoryStore(items)
  const notes: unknown[] = []
  const fetched = fetchedItems()
  const { keys } = await prepareSecondaryToken({ parameters: given } as never)
  for (const one of keys)
    fetched.keep(
      one,
      items.find(({ pk, sk }) => pk === one.pk && sk === one.sk),
    )
  const call = callWith({
    parameters: given,
    fetched,
    now: NOW,
    cluster: { record: record(mode, parts), readAt: NOW },
    request: { id: 'r-1', path: 'sys/replication/dr/primary/secondary-token', domain: 'abc.example.com' },
    ports: {
      ...around,
      store,
      clock: { now: () => NOW },
      audit: { write: async (entry: unknown) => void notes.push(entry) },
      deployment: { apiAddress: '', plainEndpoints: false, ...deployment },
    },
  })
  return { call: call as Call<never>, notes }
}

const codeAndText = (error: { code: string; message: string }) => [error.code, error.message]

/** Makes an activation token, after the first step of its endpoint. */
async function tokenOf(call: Parameters<typeof makeSecondaryToken>[0]) {
  await auditReplacement(call)
  return makeSecondaryToken(call)
}

describe('requesting an activation token', () => {
  test('without a public key the token is returned like a wrapped answer', async () => {
    const { call } = await callOf({ id: 'us-west' })
    const { answer, changes } = await tokenOf(call)
    if (answer.kind !== 'wrapped') throw new Error('no wrapping')
    expect(answer.info).toEqual({
      token: expect.any(String),
      accessor: expect.stringMatching(/^[0-9A-Za-z]{24}$/),
      ttl: 1800,
      creation_time: '2023-11-14T22:13:20.5Z',
      creation_path: 'sys/replication/dr/primary/secondary-token',
    })
    expect(readActivationClaims(answer.info.token)).toMatchObject({
      id: 'us-west',
      set: 'set-1',
      addr: 'https://abc.example.com',
      exp: 1_700_000_000 + 1800,
    })
    expect(changes).toContainEqual(
      expect.objectContaining({ kind: 'put', key: key('secondary', 'us-west'), expected: 'absent' }),
    )
    expect(JSON.stringify(changes)).not.toContain(answer.info.token)
  })

  test('a token for a public key is encrypted, and its text reveals nothing', async () => {
    const { publicKey } = await makePendingLinkKey(NOW, around)
    const { call } = await callOf({ id: 'us-west', secondary_public_key: publicKey, ttl: 60 })
    const { answer, changes } = await tokenOf(call)
    if (answer.kind !== 'data') throw new Error('no data')
    expect(String(answer.data['token'])).not.toContain('.')
    expect(changes).toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ expires: NOW + 60_000, publicKey }) }),
    )
  })

  test.each<[name: string, world: World, address: string]>([
    [
      'as the set knows it',
      { parts: { clusterAddr: 'https://lb.example' }, deployment: { apiAddress: 'https://api' } },
      'https://lb.example',
    ],
    ['as the deployment configures it', { deployment: { apiAddress: 'https://api' } }, 'https://api'],
    [
      'as the deployment configures it, if other clusters use another address than clients',
      { deployment: { apiAddress: 'https://api', linkAddress: 'https://link' } },
      'https://link',
    ],
    ['as the request used it', {}, 'https://abc.example.com'],
    [
      'as the request used it on this machine',
      { deployment: { plainEndpoints: true } },
      'http://abc.example.com',
    ],
  ])('the token contains the primary’s address %s', async (_, world, address) => {
    const { answer } = await tokenOf((await callOf({ id: 'a' }, world)).call)
    expect(answer.kind === 'wrapped' && readActivationClaims(answer.info.token)?.addr).toBe(address)
  })

  const ID =
    'id must have at most 128 letters, digits, "_", "-" or ".", and begin and end with a letter, a digit or "_"; choose another name for the secondary'
  test.each<[name: string, given: Record<string, unknown>, items: Item[], text: string]>([
    ['an id that ends in a dash', { id: 'a-' }, [], ID],
    ['an id with a slash', { id: 'a/b' }, [], ID],
    ['a reserved id', { id: '.current' }, [], ID],
    ['an id longer than 128 characters', { id: 'a'.repeat(129) }, [], ID],
    [
      'a name that is taken, used or not',
      { id: 'a' },
      [secondary({ id: 'a' })],
      'the secondary a exists already, even if no cluster has used its token; send replace=true to end that admission, or choose another id',
    ],
    [
      'a ttl of 0',
      { id: 'a', ttl: 0 },
      [],
      'ttl must be longer than 0 seconds, and 24 hours at most; leave ttl out for a ttl of 30 minutes',
    ],
    [
      'a ttl of more than a day',
      { id: 'a', ttl: 86_401 },
      [],
      'ttl must be longer than 0 seconds, and 24 hours at most; leave ttl out for a ttl of 30 minutes',
    ],
    [
      'a public key that cannot encrypt',
      { id: 'a', secondary_public_key: Buffer.concat([Buffer.of(1), Buffer.alloc(64)]).toString('base64') },
      [],
      'secondary_public_key is not a public key of a cluster; copy the whole key from POST sys/replication/dr/secondary/generate-public-key on the secondary',
    ],
    [
      'a malformed public key',
      { id: 'a', secondary_public_key: 'AAAA' },
      [],
      'secondary_public_key is not a public key of a cluster; copy the whole key from POST sys/replication/dr/secondary/generate-public-key on the secondary',
    ],
  ])('a request with %s is rejected', async (_, given, items, text) => {
    const { call } = await callOf(given, { items })
    const refusal = await tokenOf(call).catch(codeAndText)
    expect(refusal).toEqual(['invalid_request', text])
  })

  test('with replace the request ends the earlier admission in the same commit, under every name of that cluster', async () => {
    const cluster = '11111111-2222-3333-4444-555555555555'
    const items = [
      secondary({ id: 'a', cluster, publicKey: 'k' }),
      secondary({ id: 'a-2', cluster }),
      secondary({ id: 'b', cluster: cluster.replaceAll('1', '9') }),
    ]
    const { call, notes } = await callOf({ id: 'a', replace: true }, { items })
    const { answer, changes = [] } = await tokenOf(call)
    const written = changes.flatMap(change => (change.kind === 'put' ? [[change.key.sk, change.data]] : []))
    expect(Object.fromEntries(written)).toEqual({
      'a-2': expect.objectContaining({ revokedAt: NOW }),
      [cluster]: { name: 'a', at: NOW, revoked: { at: NOW, epoch: '000001.c' } },
      'token-key': expect.anything(),
      a: expect.not.objectContaining({ revokedAt: NOW, earlier: expect.anything() }),
    })
    expect(answer.warnings).toEqual([
      `the cluster ${cluster}, which was admitted as a, is refused until it uses a new token`,
    ])
    expect(notes).toEqual([expect.objectContaining({ event: 'revocation', id: 'a', secondary: cluster })])
  })

  test.each<[string, Item[]]>([
    ['free', []],
    ['revoked', [secondary({ id: 'a', cluster: 'c-2', revokedAt: 5 })]],
  ])('with replace the request ends no admission if the name is %s', async (_, items) => {
    const { call, notes } = await callOf({ id: 'a', replace: true }, { items })
    const { answer, changes = [] } = await tokenOf(call)
    expect(changes.flatMap(change => (change.kind === 'put' ? [change.key.kind] : []))).toEqual([
      'token-key',
      'secondary',
    ])
    expect([answer.warnings, notes]).toEqual([undefined, []])
  })

  test('the request reuses the name of a revoked admission', async () => {
    const { call } = await callOf({ id: 'a' }, { items: [secondary({ id: 'a', revokedAt: 5 })] })
    const { changes } = await tokenOf(call)
    expect(changes).toContainEqual(
      expect.objectContaining({ kind: 'put', key: key('secondary', 'a'), expected: { rev: 'r' } }),
    )
  })
})

describe('making a public key on a future secondary', () => {
  test.each<ClusterMode>(['disabled', 'secondary'])(
    'a public key is made on a cluster in mode %s',
    async mode => {
      const { call } = await callOf({}, { mode })
      const { answer, changes } = await generateLinkPublicKey(call)
      const text = answer.kind === 'data' ? String(answer.data['secondary_public_key']) : ''
      expect(parseLinkPublicKeys(text)).toBeDefined()
      expect(changes).toEqual([
        expect.objectContaining({ kind: 'put', key: key('pending-key'), expected: 'any' }),
      ])
    },
  )

  test('a primary refuses to make a public key', async () => {
    const { call } = await callOf({}, { mode: 'primary' })
    expect(await generateLinkPublicKey(call).catch(codeAndText)).toEqual([
      'invalid_request',
      'this cluster is a DR primary; its keys were made when it became a primary; send this request to the cluster that becomes a secondary',
    ])
  })
})
