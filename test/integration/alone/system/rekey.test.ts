import { readFileSync } from 'node:fs'
import { decrypt, generateKey, readMessage, readPrivateKey } from 'openpgp'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { unmaskToken } from '../../../../shared/ceremony/encode.ts'
import { putItem, removeItem } from '../../../../shared/storage/changes.ts'
import { type Item, type Key, key } from '../../../../shared/storage/kinds.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { raw, tableStore } from '../../../support/tables/store.ts'

/** `ahead` is the number of milliseconds by which this clock is ahead of the system's clock. */
const clock = { ahead: 0, now: () => Date.now() + clock.ahead, sleep: async () => undefined }
let host: Awaited<ReturnType<typeof ownHost>>
/** the recovery key from initialisation */
let first: Item<'recovery-key'>
/** the shares of the current recovery key in hex; the threshold is three unless a test changes it */
let shares: string[] = []
beforeAll(async () => {
  host = await ownHost({ clock })
  const [item] = await tableStore(host).store.read([key('recovery-key')])
  if (!item) throw new Error('the cluster is initialised')
  first = item
})
beforeEach(async () => {
  shares = [...host.recovery_keys]
  // ends all attempts and resets the count of recent ones
  await tableStore(host).commit(
    putItem(key('recovery-key'), first.data),
    removeItem(key('rekey')),
    removeItem(key('ceremony')),
  )
})

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
type Body = any
type Told = [status: number, body: Body]

/**
 * The requests of a command-line client: verbs, paths, bodies and token. The client reads the state before it
 * sends a share, and again while shares are missing.
 */
interface CommandLine {
  name: string
  at: string
  starts: 'PUT' | 'POST'
  token: () => string
  /** fields that the client sends in addition to the parameters */
  init: object
  /** returns the part of an answer that the client reads */
  reads: (body: Body) => Body
}

const commandLines: readonly CommandLine[] = [
  {
    name: 'vault operator rekey -target=recovery',
    at: '/sys/rekey-recovery-key',
    starts: 'PUT',
    token: () => '',
    init: { stored_shares: 0, pgp_keys: null, Backup: false, require_verification: false },
    reads: body => body,
  },
  {
    name: 'bao operator rotate-keys -target=recovery',
    at: '/sys/rotate/recovery',
    starts: 'POST',
    token: () => host.root_token,
    init: { pgp_keys: null, backup: false, require_verification: false },
    reads: body => body.data,
  },
]

function run({ at, starts, token, init, reads }: CommandLine) {
  const send = async (method: string, path: string, body?: unknown): Promise<Told> => {
    const reply = await host.api(method, at + path, body, { token: token() })
    return [reply.status, reply.status === 200 ? reads(reply.body) : reply.body]
  }
  const give = async (phase: 'init' | 'verify', share: string, nonce?: string): Promise<Told> => {
    const [, state] = await send('GET', `/${phase}`)
    expect(state.started).toBe(true)
    const path = phase === 'init' ? '/update' : '/verify'
    const told = await send('PUT', path, { key: share, nonce: nonce ?? state.nonce })
    if (told[0] === 200 && !told[1].complete) await send('GET', `/${phase}`)
    return told
  }
  return {
    send,
    init: (asked: object) => send(starts, '/init', { ...init, ...asked }),
    status: (phase: 'init' | 'verify' = 'init') => send('GET', `/${phase}`),
    /** cancelling needs a token once a share was sent */
    cancel: async (phase: 'init' | 'verify' = 'init'): Promise<Told> => {
      const reply = await host.api('DELETE', `${at}/${phase}`)
      return [reply.status, reply.status === 200 ? reads(reply.body) : reply.body]
    },
    give: (share = '', nonce?: string) => give('init', share, nonce),
    verify: (share = '', nonce?: string) => give('verify', share, nonce),
    /** sends as many shares as the threshold needs, and returns the last answer */
    giveAll: async (): Promise<Body> => {
      for (const share of shares.slice(0, 2)) await give('init', share)
      return (await give('init', shares[2] ?? ''))[1]
    },
  }
}

/** Reports whether the shares generate a root token. */
async function makeRoot(some: readonly string[]): Promise<boolean> {
  const at = '/sys/generate-root'
  const anonymous = { token: '' }
  const { nonce, otp } = (await host.api('PUT', `${at}/attempt`, {}, anonymous)).body
  let encoded = ''
  for (const share of some) {
    const { status, body } = await host.api('PUT', `${at}/update`, { key: share, nonce }, anonymous)
    if (status === 200) encoded = body.encoded_token
  }
  await host.api('DELETE', `${at}/attempt`, undefined, anonymous)
  if (encoded === '') return false
  const token = unmaskToken(encoded, otp) ?? ''
  expect((await host.api('GET', '/auth/token/lookup-self', undefined, { token })).status).toBe(200)
  return true
}

const foreign = 'ab'.repeat(33)
/** Returns an item as stored. */
async function stored(place: Key): Promise<Body> {
  const item: Body = await raw(host, place)
  if (!item) throw new Error(`there is no ${place.kind}`)
  return item
}
const storedKey = () => stored(key('recovery-key'))

describe.each(commandLines)('$name', line => {
  const cli = run(line)

  test('creates another recovery key: the new shares become valid, and the old shares invalid', async () => {
    const old = shares
    const [status, started] = await cli.init({ secret_shares: 4, secret_threshold: 2 })
    const { nonce } = started
    expect([status, started]).toMatchObject([
      200,
      { started: true, n: 4, t: 2, progress: 0, required: 3, backup: false },
    ])
    expect(started).toMatchObject({ verification_required: false, pgp_fingerprints: null })
    for (const [index, share] of shares.slice(0, 2).entries())
      expect(await cli.give(share)).toMatchObject([200, { progress: index + 1, started: true, nonce }])
    const [last, made] = await cli.give(shares[2])
    expect([last, made]).toMatchObject([200, { complete: true, nonce, verification_required: false }])
    expect(made.keys_base64).toEqual(
      made.keys.map((one: string) => Buffer.from(one, 'hex').toString('base64')),
    )
    shares = made.keys
    expect(shares).toHaveLength(4)
    expect(await cli.status()).toMatchObject([200, { started: false, nonce: '', progress: 0, required: 2 }])
    expect((await host.api('GET', '/sys/seal-status')).body).toMatchObject({ t: 2, n: 4 })
    expect(await makeRoot(old)).toBe(false)
    expect(await makeRoot(shares.slice(2))).toBe(true)
  })

  test('with verification keeps the old shares valid until the new shares are verified, and stores no new key before', async () => {
    const asked = { secret_shares: 3, secret_threshold: 2, require_verification: true }
    const [, { nonce }] = await cli.init(asked)
    expect(await cli.status('verify')).toMatchObject([200, { started: false, nonce: '', t: 2, n: 3 }])
    const made = await cli.giveAll()
    expect(made).toMatchObject({ complete: true, nonce, verification_required: true })
    const { verification_nonce } = made
    expect(await makeRoot(made.keys.slice(0, 2))).toBe(false)
    expect(await makeRoot(shares.slice(0, 3))).toBe(true)

    expect(await cli.status()).toMatchObject([200, { started: true, nonce, verification_nonce }])
    const fresh = { started: true, nonce: verification_nonce, t: 2, n: 3, progress: 0 }
    expect(await cli.status('verify')).toMatchObject([200, fresh])
    expect(JSON.stringify(await stored(key('rekey')))).not.toContain(made.keys[0].slice(0, 16))
    // an old share, a foreign share, the nonce of the start, and a repeated share change nothing
    expect((await cli.verify(shares[0]))[0]).toBe(400)
    expect((await cli.verify(foreign))[0]).toBe(400)
    expect((await cli.verify(made.keys[0], nonce))[0]).toBe(400)
    expect(await cli.verify(made.keys[0])).toMatchObject([200, { progress: 1, nonce: verification_nonce }])
    expect((await cli.verify(made.keys[0]))[0]).toBe(400)
    // cancelling restarts the verification and keeps the new shares
    const [, again] = await cli.cancel('verify')
    expect(again).toMatchObject({ ...fresh, nonce: expect.not.stringContaining(verification_nonce) })
    expect((await cli.send('PUT', '/update', { key: shares[0], nonce }))[1].errors[0]).toContain(again.nonce)
    await cli.verify(made.keys[2])
    expect(await cli.verify(made.keys[1])).toMatchObject([200, { complete: true, nonce: again.nonce }])
    expect(await makeRoot(shares.slice(0, 3))).toBe(false)
    expect(await makeRoot(made.keys.slice(0, 2))).toBe(true)
    expect((await cli.status('verify'))[0]).toBe(400)
  })

  test('encrypts the shares to OpenPGP keys in the given order', async () => {
    const pairs = await Promise.all(
      ['ecc', 'ecc', 'rsa'].map(type =>
        generateKey({
          userIDs: [{ name: 'o' }],
          format: 'object',
          type: type as 'ecc' | 'rsa',
          rsaBits: 2048,
        }),
      ),
    )
    const pgp_keys = pairs.map(({ publicKey }) => Buffer.from(publicKey.write()).toString('base64'))
    const prints = pairs.map(({ publicKey }) => publicKey.getFingerprint())
    const few = await cli.init({ secret_shares: 4, secret_threshold: 2, pgp_keys })
    expect([few[0], few[1].errors[0]]).toEqual([400, expect.stringContaining('number of PGP keys')])
    const bad = await cli.init({
      secret_shares: 3,
      secret_threshold: 2,
      pgp_keys: [...pgp_keys.slice(1), 'x'],
    })
    expect([bad[0], bad[1].errors[0]]).toEqual([400, expect.stringContaining('pgp_keys: key 3')])
    const [, started] = await cli.init({ secret_shares: 3, secret_threshold: 2, pgp_keys })
    expect(started.pgp_fingerprints).toEqual(prints)
    const made = await cli.giveAll()
    expect(made.pgp_fingerprints).toEqual(prints)
    const opened = await Promise.all(
      pairs.map(async ({ privateKey }, index) => {
        const binary = new Uint8Array(Buffer.from(made.keys_base64[index], 'base64'))
        expect(Buffer.from(binary).toString('hex')).toBe(made.keys[index])
        const message = await readMessage({ binaryMessage: binary })
        const decryptionKeys = await readPrivateKey({ binaryKey: privateKey.write() })
        return String((await decrypt({ message, decryptionKeys })).data)
      }),
    )
    expect(await makeRoot(opened.slice(1))).toBe(true)
    expect((await storedKey()).data).toMatchObject({ pgpFingerprints: prints })
  })

  test('cancel always answers 204, and the current recovery key stays', async () => {
    expect(await cli.cancel()).toEqual([204, undefined])
    const asked = { secret_shares: 3, secret_threshold: 2, require_verification: true }
    const before = (await storedKey()).rev
    const [, begun] = await cli.init(asked)
    expect((await cli.init(asked))[1].errors[0]).toMatch(/^rekey already in progress; /)
    await cli.give(shares[0])
    await cli.cancel()
    expect(await cli.status()).toMatchObject([200, { started: false, progress: 0, n: 0, t: 0 }])
    const [status, gone] = await cli.send('PUT', '/update', { key: shares[1], nonce: begun.nonce })
    expect([status, gone.errors[0]]).toEqual([400, expect.stringMatching(/^no rekey in progress; /)])
    // after the new shares were returned, cancelling makes them invalid
    await cli.init(asked)
    const made = await cli.giveAll()
    await cli.cancel()
    const late = { key: made.keys[0], nonce: made.verification_nonce }
    expect((await cli.send('PUT', '/verify', late))[1].errors[0]).toMatch(
      /^no rekey verification in progress/,
    )
    expect((await storedKey()).rev).toBe(before)
    expect(await makeRoot(shares.slice(2))).toBe(true)
  })

  test('a wrong nonce, a foreign share and a repeated share get 400 and are not counted', async () => {
    const [, { nonce }] = await cli.init({ secret_shares: 3, secret_threshold: 2 })
    const [status, wrong] = await cli.give(shares[0], 'other')
    expect([status, wrong.errors[0]]).toEqual([400, expect.stringContaining(`"${nonce}"`)])
    const before = (await stored(key('rekey'))).rev
    for (const share of [foreign, 'ab'.repeat(16), Buffer.from(foreign, 'hex').toString('base64')])
      expect((await cli.give(share))[0]).toBe(400)
    expect((await stored(key('rekey'))).rev).toBe(before)
    await cli.give(shares[0])
    expect((await cli.give(shares[0]))[1].errors[0]).toContain('already been provided')
    expect(await cli.status()).toMatchObject([200, { progress: 1 }])
  })

  test.each([
    ['without the number of shares', { secret_threshold: 2 }, /secret_shares/],
    ['with a threshold above the number', { secret_shares: 2, secret_threshold: 3 }, /secret_threshold/],
    [
      'with a threshold of 1 for several shares',
      { secret_shares: 2, secret_threshold: 1 },
      /secret_threshold/,
    ],
    ['with 256 shares', { secret_shares: 256, secret_threshold: 2 }, /secret_shares/],
    ['with stored shares', { secret_shares: 2, secret_threshold: 2, stored_shares: 1 }, /stored_shares/],
    ['with a backup', { secret_shares: 2, secret_threshold: 2, backup: true }, /backup/],
  ])('is rejected %s', async (_, asked, text) => {
    const [status, body] = await cli.init(asked)
    expect([status, body.errors[0]]).toEqual([400, expect.stringMatching(text)])
    expect(await cli.status()).toMatchObject([200, { started: false }])
  })
})

test('vault operator rekey -backup is rejected with an error that names the field', async () => {
  const body = { secret_shares: 2, secret_threshold: 2, stored_shares: 0, pgp_keys: null, Backup: true }
  const reply = await host.api('PUT', '/sys/rekey-recovery-key/init', body, { token: '' })
  expect([reply.status, reply.body.errors[0]]).toEqual([400, expect.stringMatching(/backup/i)])
})

test.each([
  ['GET', '/sys/rekey/init'],
  ['PUT', '/sys/rekey/init'],
  ['DELETE', '/sys/rekey/init'],
  ['PUT', '/sys/rekey/update'],
  ['GET', '/sys/rekey/verify'],
  ['POST', '/sys/rotate/root'],
  ['POST', '/sys/rotate/root/init'],
  ['PUT', '/sys/rotate/root/update'],
  ['DELETE', '/sys/rotate/root/verify'],
])('%s %s is rejected with the paths that rekey recovery keys', async (method, path) => {
  const reply = await host.api(method, path, method === 'GET' || method === 'DELETE' ? undefined : {})
  expect([reply.status, reply.body.errors[0]]).toEqual([
    400,
    expect.stringMatching(/sys\/rotate\/recovery\/init.*sys\/rekey-recovery-key\/init/),
  ])
})

test.each([
  '/sys/rekey/backup',
  '/sys/rekey/recovery-key-backup',
  '/sys/rekey-recovery-key/backup',
  '/sys/rotate/recovery/backup',
])('%s is rejected with an error about backups', async path => {
  for (const method of ['GET', 'DELETE']) {
    const reply = await host.api(method, path)
    expect([reply.status, reply.body.errors[0]]).toEqual([400, expect.stringMatching(/^backup/)])
  }
})

describe('a rekey attempt', () => {
  const cli = run(commandLines[0] as CommandLine)
  const asked = { secret_shares: 3, secret_threshold: 2 }

  test('expires an hour after the last share', async () => {
    await cli.init(asked)
    clock.ahead += 3_540_000
    expect((await cli.give(shares[0]))[1]).toMatchObject({ progress: 1 })
    clock.ahead += 3_600_000
    expect(await cli.status()).toMatchObject([200, { started: false }])
  })

  test('can be cancelled without a token only before its first share, and only if the attempt was started without a token', async () => {
    const stranger = (path: string) =>
      host.api('DELETE', `/sys/rekey-recovery-key/${path}`, undefined, { token: '' })
    await cli.init(asked)
    expect((await stranger('init')).status).toBe(204)
    await host.api('PUT', '/sys/rekey-recovery-key/init', asked)
    expect((await stranger('init')).status).toBe(403)
    await cli.cancel()
    await cli.init({ ...asked, require_verification: true })
    await cli.give(shares[0])
    expect((await stranger('init')).status).toBe(403)
    for (const share of shares.slice(1, 3)) await cli.give(share)
    // all old shares were sent, but no new share
    for (const path of ['init', 'verify']) expect((await stranger(path)).status).toBe(403)
    expect(await cli.status('verify')).toMatchObject([200, { started: true, progress: 0 }])
  })

  test('and a root generation can run at the same time', async () => {
    await cli.init(asked)
    expect(await makeRoot(shares.slice(0, 3))).toBe(true)
    expect(await cli.status()).toMatchObject([200, { started: true }])
  })

  test('ends a root generation that has received old shares', async () => {
    const at = '/sys/generate-root'
    const anonymous = { token: '' }
    const { nonce } = (await host.api('PUT', `${at}/attempt`, {}, anonymous)).body
    await host.api('PUT', `${at}/update`, { nonce, key: shares[0] }, anonymous)
    await host.api('PUT', `${at}/update`, { nonce, key: shares[1] }, anonymous)
    await cli.init(asked)
    const { keys } = await cli.giveAll()
    const update = (share: string) => host.api('PUT', `${at}/update`, { nonce, key: share }, anonymous)
    for (const share of [shares[2] ?? '', keys[0]])
      expect((await update(share)).body.errors[0]).toMatch(/^no root generation in progress/)
  })

  test('with concurrent shares completes once', async () => {
    const [, { nonce }] = await cli.init(asked)
    const told = await Promise.all(shares.map(share => cli.send('PUT', '/update', { nonce, key: share })))
    const made = told.filter(([, body]) => body.complete)
    expect(made).toHaveLength(1)
    expect(await makeRoot(made[0]?.[1].keys.slice(0, 2))).toBe(true)
  })

  test('leaves audit entries without shares or nonces', async () => {
    const [, { nonce }] = await cli.init(asked)
    const { keys } = await cli.giveAll()
    const log = readFileSync(`${host.directory}/audit.log`, 'utf8')
    const entries = log
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const last = entries.findLast(
      ({ audit, request }) => audit === 'response' && request.path === 'sys/rekey-recovery-key/update',
    )
    expect(last.response.data).toMatchObject({ complete: true })
    for (const secret of [...shares, ...keys, nonce]) expect(log).not.toContain(secret)
  })
})

test('sys/rotate/recovery is rejected without a token or without the sudo capability', async () => {
  const policy = 'path "sys/rotate/recovery/*" { capabilities = ["read", "update", "delete"] }'
  await host.api('POST', '/sys/policies/acl/rotating', { policy })
  const { body } = await host.api('POST', '/auth/token/create', { policies: ['rotating'], ttl: '1h' })
  for (const [method, path] of [
    ['GET', 'init'],
    ['POST', 'init'],
    ['DELETE', 'init'],
    ['POST', 'update'],
    ['GET', 'verify'],
    ['POST', 'verify'],
    ['DELETE', 'verify'],
  ] as const)
    for (const token of ['', body.auth.client_token])
      expect((await host.api(method, `/sys/rotate/recovery/${path}`, undefined, { token })).status).toBe(403)
})
