import { decrypt, generateKey, readMessage, readPrivateKey } from 'openpgp'
import { combine } from 'shamir-secret-sharing'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { removeItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { auditText } from '../../../support/service/audit.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { raw, sendAt, tableStore } from '../../../support/tables/store.ts'

let host: Awaited<ReturnType<typeof ownHost>>
beforeAll(async () => {
  host = await ownHost()
})

// Resets the cluster to before initialisation. Functions may still have an earlier keyring in memory.
beforeEach(async () => {
  const { commit } = tableStore(host)
  await commit(
    removeItem(key('cluster')),
    removeItem(key('keyring')),
    removeItem(key('recovery-key')),
    removeItem(key('mounts')),
  )
})

const init = (body: unknown = {}, method = 'PUT') => host.api(method, '/sys/init', body, { token: '' })

describe('before initialisation of a cluster', () => {
  test('health and status report that the cluster is uninitialised, and other requests get 503', async () => {
    const get = async (path: string) => {
      const { status, body } = await host.api('GET', path, undefined, { token: '' })
      return [status, body]
    }
    expect(await get('/sys/init')).toEqual([200, { initialized: false }])
    expect(await get('/sys/health')).toEqual([
      501,
      expect.objectContaining({ initialized: false, cluster_id: '' }),
    ])
    expect((await get('/sys/health?uninitcode=299'))[0]).toBe(299)
    expect(await get('/sys/seal-status')).toEqual([
      200,
      expect.objectContaining({ initialized: false, sealed: true, t: 0, n: 0 }),
    ])
    for (const [method, path] of [
      ['POST', '/auth/cloud/login'],
      ['GET', '/sys/auth'],
      ['LIST', '/auth/cloud/roles'],
      ['GET', '/x'],
    ] as const) {
      const { status, body } = await host.api(method, path)
      expect([status, body], path).toEqual([503, { errors: ['this cluster is not initialised'] }])
    }
  })
})

describe.each([
  ['no format', undefined],
  ['format 0', 0],
  ['format 2', 2],
])('a cluster record with %s', (named, format) => {
  const place = key('cluster')

  test('is rejected with an error that names the format, and stays unchanged', async () => {
    await init()
    const { format: _, ...stored } = (await raw(host, place)) ?? {}
    const Item = { ...stored, ...(format === undefined ? {} : { format }) }
    await sendAt(host)('PutItem', { TableName: host.tables.cluster, Item })
    const errors = [
      `the cluster record has ${named}, and this version knows format 1 only; deploy the version that stored the item; nothing has been changed`,
    ]
    for (const [method, path] of [
      ['GET', '/sys/health'],
      ['GET', '/sys/init'],
      ['PUT', '/sys/init'],
      ['POST', '/auth/cloud/login'],
      ['GET', '/sys/auth'],
      ['GET', '/sys/replication/dr/status'],
    ] as const) {
      const { status, body } = await host.api(method, path, method === 'GET' ? undefined : {}, { token: '' })
      expect([status, body], `${method} ${path}`).toEqual([503, { errors }])
    }
    expect(await raw(host, place)).toEqual(Item)
  })
})

describe('initialisation', () => {
  test.each(['PUT', 'POST'])(
    '%s returns five shares with a threshold of three, and a working root token',
    async method => {
      const { status, body } = await init(undefined, method)
      expect(status).toBe(200)
      expect(Object.keys(body).sort()).toEqual([
        'keys',
        'keys_base64',
        'recovery_keys',
        'recovery_keys_base64',
        'root_token',
      ])
      expect([body.keys, body.keys_base64]).toEqual([[], []])
      const shares: Buffer[] = body.recovery_keys.map((hex: string) => Buffer.from(hex, 'hex'))
      expect(shares.map(share => share.toString('base64'))).toEqual(body.recovery_keys_base64)
      expect(shares.map(share => share.length)).toEqual([33, 33, 33, 33, 33])
      const whole = await together(shares.slice(0, 3))
      expect(whole).toHaveLength(64)
      expect(await together([shares[4], shares[1], shares[3]])).toBe(whole)
      expect(await together(shares.slice(0, 2))).not.toBe(whole)

      const options = { token: body.root_token }
      expect((await host.api('GET', '/auth/token/lookup-self', undefined, options)).body.data).toMatchObject({
        policies: ['root'],
        ttl: 0,
        expire_time: null,
        orphan: true,
        path: 'auth/token/root',
      })
      const mounts = (await host.api('GET', '/sys/auth', undefined, options)).body.data
      expect(Object.keys(mounts)).toEqual(['cloud/', 'token/'])
      expect((await host.api('GET', '/sys/seal-status')).body).toMatchObject({
        sealed: false,
        t: 3,
        n: 5,
        type: 'awskms',
      })
      expect((await host.api('GET', '/sys/health')).status).toBe(200)
    },
  )

  test.each([
    [{ recovery_shares: 1 }, [32]],
    [{ recovery_shares: 1, recovery_threshold: 1 }, [32]],
    [{ recovery_shares: 3, recovery_threshold: 2, stored_shares: 7 }, [33, 33, 33]],
    [{ recovery_shares: '4', recovery_threshold: '4' }, [33, 33, 33, 33]],
  ])('%j returns shares of %j bytes', async (body, lengths) => {
    const { recovery_keys } = (await init(body)).body
    expect(recovery_keys.map((share: string) => share.length / 2)).toEqual(lengths)
  })

  test('a successful request leaves its entries in the audit log, without secrets that the client sent', async () => {
    const secret = 'hvs.S3CRETS3CRETS3CRET'
    const entries = (id = '') =>
      auditText(host.directory)
        .split('\n')
        .filter(line => line.includes(id))
    const send = (body: object) => host.api('PUT', '/sys/init', body, { token: secret })
    const refused = await send({ recovery_shares: 1, recovery_threshold: 2, other: secret })
    expect([refused.status, entries(refused.headers['x-request-id'])]).toEqual([400, []])
    const { status, headers } = await send({ other: secret })
    expect(status).toBe(200)
    const told = entries(headers['x-request-id']).map(line => JSON.parse(line))
    expect(told.map(({ audit, request }) => [audit, request.operation, request.path])).toEqual([
      ['request', 'write', 'sys/init'],
      ['response', 'write', 'sys/init'],
    ])
    expect(told[0].request.unknown.count).toBe(1)
    expect(JSON.stringify(told)).not.toContain(secret)
  })

  test('a second initialisation is rejected, and the keys of the first initialisation stay valid', async () => {
    const { root_token } = (await init()).body
    const again = await init({ recovery_shares: 1 })
    expect([again.status, again.body.errors]).toEqual([400, ['the cluster is already initialised']])
    expect((await host.api('GET', '/sys/auth', undefined, { token: root_token })).status).toBe(200)
    expect((await host.api('GET', '/sys/seal-status')).body).toMatchObject({ t: 3, n: 5 })
  })

  test('only one of several concurrent requests succeeds', async () => {
    const replies = await Promise.all([init(), init(), init()])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400])
  })

  const refused: [body: Record<string, unknown>, message: string][] = [
    [{ recovery_shares: 0 }, 'recovery_shares must be between 1 and 255'],
    [{ recovery_shares: -1 }, 'recovery_shares must be between 1 and 255'],
    [{ recovery_shares: 256 }, 'recovery_shares must be between 1 and 255'],
    [{ recovery_threshold: 0 }, 'recovery_threshold must be between 1 and recovery_shares'],
    [{ recovery_threshold: 6 }, 'recovery_threshold must be between 1 and recovery_shares'],
    [
      { recovery_shares: 2, recovery_threshold: 3 },
      'recovery_threshold must be between 1 and recovery_shares',
    ],
    [{ recovery_threshold: 1 }, 'recovery_threshold must be greater than 1 when there are several shares'],
    [{ recovery_shares: 'x' }, 'Field validation failed: recovery_shares must be an integer'],
    [{ recovery_pgp_keys: ['x', 'y'] }, 'recovery_pgp_keys must name one key for each share'],
    [
      { recovery_shares: 1, recovery_pgp_keys: ['x'] },
      'recovery_pgp_keys: key 1 is not a usable OpenPGP public key: the key is neither base64 of a binary key nor an armoured key',
    ],
    [
      { root_token_pgp_key: 'AAAA' },
      'root_token_pgp_key: key 1 is not a usable OpenPGP public key: the text is not an OpenPGP key',
    ],
    ...['secret_shares', 'secret_threshold', 'pgp_keys'].map((name): [Record<string, unknown>, string] => [
      { [name]: 1 },
      `${name} does not apply: KMS keeps the keys; use recovery_shares and recovery_threshold`,
    ]),
  ]
  test.each(refused)('%j is rejected, and the cluster stays uninitialised', async (body, message) => {
    const reply = await init(body)
    expect([reply.status, reply.body.errors]).toEqual([400, [message]])
    expect((await host.api('GET', '/sys/init')).body).toEqual({ initialized: false })
    expect((await init()).status).toBe(200)
  })
})

describe('shares and root token encrypted to OpenPGP keys', () => {
  const pair = () => generateKey({ userIDs: [{ name: 'operator' }], format: 'armored' })
  type Pair = Awaited<ReturnType<typeof pair>>
  const binary = ({ publicKey }: Pair) => publicKey.split('\n\n')[1]?.replace(/\n=[\s\S]*|\n/g, '') ?? ''

  async function opened(message: Buffer, { privateKey }: Pair): Promise<string> {
    const { data } = await decrypt({
      message: await readMessage({ binaryMessage: new Uint8Array(message) }),
      decryptionKeys: await readPrivateKey({ armoredKey: privateKey }),
    })
    return String(data)
  }

  test('only the holder of each key can decrypt its share', async () => {
    const pairs = [await pair(), await pair(), await pair()] as const
    const { status, text, body } = await init({
      recovery_shares: 3,
      recovery_threshold: 2,
      recovery_pgp_keys: [binary(pairs[0]), pairs[1].publicKey, binary(pairs[2])],
      root_token_pgp_key: binary(pairs[0]),
    })
    expect(status, text).toBe(200)
    const messages = body.recovery_keys.map((hex: string) => Buffer.from(hex, 'hex')) as Buffer[]
    expect(messages.map(message => message.toString('base64'))).toEqual(body.recovery_keys_base64)
    const shares = []
    for (const [index, message] of messages.entries()) {
      const hex = await opened(message, pairs[index] as Pair)
      expect(hex).toMatch(/^[0-9a-f]{66}$/)
      shares.push(Buffer.from(hex, 'hex'))
    }
    expect(await together(shares.slice(0, 2))).toBe(await together(shares.slice(1)))
    await expect(opened(messages[0] as Buffer, pairs[1])).rejects.toThrow()

    const root = await opened(Buffer.from(body.root_token, 'base64'), pairs[0])
    expect(text).not.toContain(root)
    expect((await host.api('GET', '/sys/auth', undefined, { token: root })).status).toBe(200)
  })
})

const together = async (shares: readonly (Buffer | undefined)[]): Promise<string> =>
  Buffer.from(await combine(shares.map(share => new Uint8Array(share as Buffer)))).toString('hex')
