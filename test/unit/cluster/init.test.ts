import { decrypt, generateKey, readKey, readMessage, readPrivateKey } from 'openpgp'
import { combine } from 'shamir-secret-sharing'
import { beforeAll, describe, expect, test } from 'vitest'
import { readParameterFields } from '../../../shared/api/fields.ts'
import { initFields, initialiseNewCluster } from '../../../shared/cluster/init.ts'
import { encryptForEachPgpKey } from '../../../shared/cluster/pgp.ts'
import { hashRecoveryShare, recoveryKeyVerifier } from '../../../shared/cluster/recovery.ts'
import { accessorOfHash, tokenHashOf } from '../../../shared/model/token.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'
import { callWith } from '../../support/requests/call.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher, NOW } from '../tokens/support.ts'

interface HandedOut {
  keys: string[]
  keys_base64: string[]
  recovery_keys: string[]
  recovery_keys_base64: string[]
  root_token: string
}

/** Returns the answer of an initialisation, and the changes that it commits. */
async function init(
  body: object,
  written: 'done' | 'conflict' = 'done',
  more: object = {},
  holders: readonly string[] = [],
) {
  const { store, commits } = memoryStore([], { verdicts: [written] })
  let uuids = 0
  const ports = {
    keyFactory: {
      newKeyring: async (since: number) => ({
        keyring: { id: 'ring-1', term: 1, since, wrapped: 'w', keys: 'k' },
        cipher: clearCipher,
        terms: [{ id: 'identity', number: 1, probe: '1.probe' as EncryptedText }],
      }),
    },
    entropy: {
      bytes: (length: number) => Buffer.alloc(length, 5),
      uuid: () => `0000000${uuids++}-0000-4000-8000-000000000000`,
    },
    deployment: { clusterName: 'east', initPgpKeys: holders },
    store,
  }
  const given = readParameterFields(initFields, body as Record<string, unknown>).parameters
  const { answer } = await initialiseNewCluster(callWith({ parameters: given, ports, now: NOW, ...more }))
  return { body: (answer as unknown as { body: HandedOut }).body, commits }
}

const keyPair = () => generateKey({ userIDs: [{ name: 'a' }], format: 'binary', type: 'ecc' })

describe('initialisation', () => {
  let alice: Awaited<ReturnType<typeof keyPair>>
  let bob: Awaited<ReturnType<typeof keyPair>>
  beforeAll(async () => {
    ;[alice, bob] = await Promise.all([keyPair(), keyPair()])
  })

  const opened = async (message: Buffer, pair: typeof alice) => {
    const decryptionKeys = await readPrivateKey({ binaryKey: pair.privateKey as unknown as Uint8Array })
    const { data } = await decrypt({ message: await readMessage({ binaryMessage: message }), decryptionKeys })
    return data
  }
  const base64 = (pair: typeof alice) =>
    Buffer.from(pair.publicKey as unknown as Uint8Array).toString('base64')

  test('initialisation creates a root token and five shares, three of which combine to the key, in one commit', async () => {
    const { body, commits } = await init({})
    expect(body).toMatchObject({ keys: [], keys_base64: [] })
    expect(body.recovery_keys).toHaveLength(5)
    expect(body.recovery_keys.map(hex => Buffer.from(hex, 'hex').toString('base64'))).toEqual(
      body.recovery_keys_base64,
    )
    for (const share of body.recovery_keys) expect(share).toMatch(/^[0-9a-f]{66}$/)
    const three = body.recovery_keys.slice(1, 4).map(hex => new Uint8Array(Buffer.from(hex, 'hex')))
    expect(Buffer.from(await combine(three))).toEqual(Buffer.alloc(32, 5))
    expect(commits).toHaveLength(1)
    expect(commits[0]?.map(change => change.kind === 'put' && [change.key.kind, change.expected])).toEqual([
      ...['cluster', 'keyring', 'term', 'recovery-key', 'mounts'].map(kind => [kind, 'absent']),
      ['mounts-revision', 'any'],
      ['token', 'absent'],
    ])
  })

  test('initialisation stores a cluster without replication, the first two mounts and a root token without expiry', async () => {
    const { body, commits } = await init({ recovery_shares: 3, recovery_threshold: 2 })
    const data = Object.fromEntries(
      (commits[0] ?? []).flatMap(one => (one.kind === 'put' ? [[one.key.kind, one.data]] : [])),
    )
    expect(data['cluster']).toMatchObject({
      name: 'east',
      mode: 'disabled',
      keyring: 'ring-1',
      term: 1,
      initialisedAt: NOW,
    })
    const shares = body.recovery_keys.map(hex => Buffer.from(hex, 'hex'))
    expect(data['recovery-key']).toEqual({
      shares: 3,
      threshold: 2,
      since: NOW,
      verifier: recoveryKeyVerifier(Buffer.alloc(32, 5)),
      shareHashes: shares.map(hashRecoveryShare),
    })
    expect(data['mounts']).toMatchObject({
      mounts: [
        { path: 'token', type: 'token' },
        { path: 'cloud', type: 'cloud' },
      ],
      removing: [],
    })
    expect(data['token']).toMatchObject({ policies: ['root'], ttl: 0, hash: tokenHashOf(body.root_token) })
    expect(JSON.stringify(commits)).not.toContain(body.root_token)
    expect(accessorOfHash(tokenHashOf(body.root_token))).toHaveLength(24)
  })

  test('a single share is the key itself', async () => {
    const { body } = await init({ recovery_shares: 1 })
    expect(body.recovery_keys).toEqual([Buffer.alloc(32, 5).toString('hex')])
  })

  test("initialisation encrypts each share's hex text for its OpenPGP key, and the root token for its own key", async () => {
    const { body } = await init({
      recovery_shares: 2,
      recovery_threshold: 2,
      recovery_pgp_keys: [base64(alice), base64(bob)],
      root_token_pgp_key: base64(bob),
    })
    const messages = body.recovery_keys_base64.map(text => Buffer.from(text, 'base64'))
    expect(messages.map(message => message.toString('hex'))).toEqual(body.recovery_keys)
    const [first, second] = messages
    if (!first || !second) throw new Error('two shares')
    const shares = [await opened(first, alice), await opened(second, bob)]
    expect(
      Buffer.from(await combine(shares.map(hex => new Uint8Array(Buffer.from(String(hex), 'hex'))))),
    ).toEqual(Buffer.alloc(32, 5))
    expect(await opened(Buffer.from(body.root_token, 'base64'), bob)).toMatch(/^hvs\./)
    await expect(opened(first, bob)).rejects.toThrow()
  })

  describe('a deployment that names the share holders', () => {
    const printOf = async (pair: typeof alice) =>
      (await readKey({ binaryKey: pair.publicKey as unknown as Uint8Array })).getFingerprint()
    const holders = async () => [await printOf(alice), await printOf(bob)]
    const good = () => ({
      recovery_shares: 2,
      recovery_threshold: 2,
      recovery_pgp_keys: [base64(bob), base64(alice)],
      root_token_pgp_key: base64(alice),
    })

    test('initialisation accepts exactly the keys of the named holders, in any order', async () => {
      const { body } = await init(good(), 'done', {}, await holders())
      const [first = ''] = body.recovery_keys_base64
      expect(await opened(Buffer.from(first, 'base64'), bob)).toMatch(/^[0-9a-f]{66}$/)
      expect(await opened(Buffer.from(body.root_token, 'base64'), alice)).toMatch(/^hvs\./)
    })

    test.each<[string, (pgp: { stranger: string }) => object, string]>([
      ['no keys', () => ({ recovery_pgp_keys: [] }), 'recovery_pgp_keys must be'],
      [
        'a stranger’s key',
        ({ stranger }) => ({ recovery_pgp_keys: [base64(alice), stranger] }),
        'recovery_pgp_keys must be',
      ],
      [
        'one holder twice',
        () => ({ recovery_pgp_keys: [base64(alice), base64(alice)] }),
        'recovery_pgp_keys must be',
      ],
      [
        'only one of two holders',
        () => ({ recovery_shares: 1, recovery_threshold: 1, recovery_pgp_keys: [base64(alice)] }),
        'recovery_pgp_keys must be',
      ],
      ['a root token in clear', () => ({ root_token_pgp_key: '' }), 'root_token_pgp_key must be'],
      [
        'a root token for a stranger',
        ({ stranger }) => ({ root_token_pgp_key: stranger }),
        'root_token_pgp_key must be',
      ],
    ])('initialisation rejects %s and writes nothing', async (_, change, message) => {
      const stranger = base64(await keyPair())
      await expect(init({ ...good(), ...change({ stranger }) }, 'done', {}, await holders())).rejects.toThrow(
        message,
      )
    })
  })

  test("initialisation accepts the neutral values that Vault's client always sends", async () => {
    const neutral = {
      secret_shares: 0,
      secret_threshold: 0,
      stored_shares: 0,
      pgp_keys: null,
      recovery_pgp_keys: null,
      root_token_pgp_key: '',
    }
    expect(
      (await init({ ...neutral, recovery_shares: 5, recovery_threshold: 3 })).body.recovery_keys,
    ).toHaveLength(5)
  })

  test.each<[name: string, body: object, message: string]>([
    ['too many shares', { recovery_shares: 256 }, 'recovery_shares'],
    ['no shares', { recovery_shares: 0 }, 'recovery_shares'],
    ['a threshold above the shares', { recovery_shares: 2, recovery_threshold: 3 }, 'recovery_threshold'],
    ['a threshold of one of several', { recovery_shares: 2, recovery_threshold: 1 }, 'recovery_threshold'],
    ['shares of another kind of seal', { secret_shares: 5 }, 'secret_shares'],
    ['their threshold', { secret_threshold: 3 }, 'secret_threshold'],
    ['their keys', { pgp_keys: ['x'] }, 'pgp_keys'],
    ['fewer OpenPGP keys than shares', { recovery_pgp_keys: ['x', 'y'] }, 'one key for each share'],
    [
      'an invalid OpenPGP key',
      { recovery_shares: 1, recovery_pgp_keys: ['AAAA'] },
      'recovery_pgp_keys: key 1',
    ],
    [
      'an invalid OpenPGP key for the root token',
      { root_token_pgp_key: '-----BEGIN PGP' },
      'root_token_pgp_key: key 1',
    ],
  ])('initialisation rejects %s', async (_, body, message) => {
    await expect(init(body)).rejects.toThrow(message)
  })

  test('a second initialisation is rejected, also a concurrent one', async () => {
    const cluster = { record: {}, readAt: NOW }
    await expect(init({}, 'done', { cluster })).rejects.toThrow('already initialised')
    await expect(init({}, 'conflict')).rejects.toThrow('already initialised')
  })

  test('initialisation accepts an armoured OpenPGP key', async () => {
    const pair = await generateKey({ userIDs: [{ name: 'a' }], type: 'ecc' })
    const [message] = await encryptForEachPgpKey(['text'], [pair.publicKey], 'f')
    if (!message) throw new Error('a message')
    const decryptionKeys = await readPrivateKey({ armoredKey: pair.privateKey })
    const found = await decrypt({ message: await readMessage({ binaryMessage: message }), decryptionKeys })
    expect(found.data).toBe('text')
  })
})
