import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { decrypt, generateKey, readMessage, readPrivateKey } from 'openpgp'
import { describe, expect, test } from 'vitest'
import { accessorOfHash, tokenHashOf } from '../../../shared/model/token.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { item } from '../../support/tables/items.ts'
import { token } from '../tokens/support.ts'
import { ceremonyWorld, IDLE_BODY, unmasked } from './support.ts'

const secondary = (division?: { shares: number; threshold: number }) =>
  ceremonyWorld(division, { of: 'operation' })
const OTP = 'x'.repeat(33)
const DELETE = '/sys/replication/dr/secondary/operation-token/delete'
const NAME = 'generation of a DR operation token'

type World = Awaited<ReturnType<typeof ceremonyWorld>>

/** Runs a whole ceremony and returns the generated token. */
async function generated(w: World, required = 3): Promise<string> {
  const { nonce, otp } = (await w.start()).body
  let encoded = ''
  for (const share of w.shares.slice(0, required)) encoded = (await w.give(nonce, share)).body.encoded_token
  return unmasked(encoded, otp)
}

const isTaken = async (w: World, dr_operation_token: string): Promise<number> =>
  (await w.send('POST', DELETE, { dr_operation_token })).status

describe('generating a DR operation token from recovery shares', () => {
  test.each([
    [1, 1],
    [3, 2],
    [5, 3],
    [255, 255],
  ])('with %i shares and threshold %i a token is created', async (shares, threshold) => {
    const w = await secondary({ shares, threshold })
    const { nonce, otp } = (await w.start()).body
    const given = w.shares.slice(-threshold)
    for (const [index, share] of given.entries()) {
      const { status, body } = await w.give(nonce, share.toString(index % 2 ? 'base64' : 'hex'))
      const complete = index + 1 === threshold
      expect([status, body.progress, body.complete]).toEqual([200, index + 1, complete])
      expect(body.encoded_root_token).toBe('')
      if (!complete) expect([body.encoded_token, w.generated()]).toEqual(['', undefined])
      else {
        expect(body.encoded_token).not.toContain('=')
        const text = unmasked(body.encoded_token, otp)
        expect(w.generated()).toEqual({ hash: tokenHashOf(text), set: 's-1', epoch: '', madeAt: w.clock.ms })
        expect(await isTaken(w, text)).toBe(204)
      }
    }
    expect(w.tokens()).toEqual([])
    expect((await w.show()).body).toMatchObject({ ...IDLE_BODY, required: threshold })
  })

  test('the response is repeated under data for clients that read it there', async () => {
    const w = await secondary()
    const { body } = await w.start()
    const {
      data,
      request_id,
      lease_id,
      renewable,
      lease_duration,
      wrap_info,
      warnings,
      auth,
      mount_type,
      ...flat
    } = body
    expect(flat).toEqual(data)
    expect(data.otp).toHaveLength(data.otp_length)
  })

  test("a generated password is returned once, the caller's own never", async () => {
    const w = await secondary()
    const { nonce, otp } = (await w.start()).body
    expect(otp).toMatch(/^[0-9A-Za-z]{33}$/)
    const told = [await w.show(), await w.give(nonce, w.shares[0] as Buffer)]
    expect(told.map(({ body }) => body.otp)).toEqual(['', ''])
    await w.cancel()
    expect((await w.start({ otp: OTP })).body.otp).toBe('')
  })

  test('a new token replaces the previous one', async () => {
    const w = await secondary()
    const [first, second] = [await generated(w), await generated(w)]
    expect(await isTaken(w, first)).toBe(403)
    expect(await isTaken(w, second)).toBe(204)
  })

  test('a deleted token is invalid, and deleting it again is rejected', async () => {
    const w = await secondary()
    const text = await generated(w)
    expect([await isTaken(w, text), await isTaken(w, text)]).toEqual([204, 403])
    expect(w.generated()).toBeUndefined()
  })

  test.each([{ epoch: '2.c' }, { set: 's-2' }])(
    'the token becomes invalid when the cluster leaves its time as a secondary (%j)',
    async parts => {
      const w = await secondary()
      const text = await generated(w)
      await w.become(parts)
      expect(await isTaken(w, text)).toBe(403)
    },
  )

  test('deleting a batch token is rejected with a text for authorised callers', async () => {
    const policy = (text: string): Item => ({ ...key('policy', 'ops'), rev: 'r', data: { text } })
    const items = [policy(`path "${DELETE.slice(1)}" { capabilities = ["update"] }`)]
    const w = await ceremonyWorld(undefined, { of: 'operation', items })
    const batch = token({ type: 'batch', hash: '', policies: ['ops'], createdAt: w.clock.ms })
    const text = `hvb.${await w.cipher.encryptToken(JSON.stringify(batch))}`
    const reply = await w.send('POST', DELETE, { dr_operation_token: text })
    expect([reply.status, reply.body.errors[0]]).toEqual([
      400,
      expect.stringMatching(/^a batch token cannot be revoked; /),
    ])
  })
})

describe('encrypting a generated token for an OpenPGP key', () => {
  test.each(['rsa', 'ecc', 'curve25519'] as const)(
    "with a key of type %s only the key's holder can decrypt the token",
    async type => {
      const size = type === 'rsa' ? { rsaBits: 2048 } : {}
      const pair = await generateKey({ type, ...size, userIDs: [{ name: 'o' }], format: 'object' })
      const w = await secondary({ shares: 1, threshold: 1 })
      const pgp_key = Buffer.from(pair.publicKey.write()).toString('base64')
      const { body: started } = await w.start({ pgp_key })
      expect(started).toMatchObject({ pgp_fingerprint: pair.publicKey.getFingerprint(), otp: '' })
      const { body } = await w.give(started.nonce, w.shares[0] as Buffer)
      expect(Buffer.from(body.encoded_token, 'base64').toString('base64')).toBe(body.encoded_token)
      const message = await readMessage({
        binaryMessage: new Uint8Array(Buffer.from(body.encoded_token, 'base64')),
      })
      const decryptionKeys = await readPrivateKey({ binaryKey: pair.privateKey.write() })
      const { data } = await decrypt({ message, decryptionKeys })
      expect(await isTaken(w, String(data))).toBe(204)
    },
  )

  test('gpg creates the key and decrypts the token', async () => {
    const home = mkdtempSync(`${tmpdir()}/gpg-`)
    const gpg = (args: readonly string[], input?: Buffer) =>
      spawnSync(
        'gpg',
        ['--homedir', home, '--batch', '--pinentry-mode', 'loopback', '--passphrase', '', ...args],
        {
          ...(input ? { input } : {}),
        },
      )
    try {
      const made = gpg(['--quick-gen-key', 'operator', 'future-default', 'default', 'never'])
      if (made.error) {
        process.stderr.write(
          'NOT TRIED: there is no gpg on this machine, so that it decrypts a token is not shown here\n',
        )
        return
      }
      expect(made.status, String(made.stderr)).toBe(0)
      const pgp_key = gpg(['--export', 'operator']).stdout.toString('base64')
      const w = await secondary({ shares: 1, threshold: 1 })
      const { nonce } = (await w.start({ pgp_key })).body
      const { body } = await w.give(nonce, w.shares[0] as Buffer)
      writeFileSync(`${home}/token`, Buffer.from(body.encoded_token, 'base64'))
      const { stdout, stderr } = gpg(['--decrypt', `${home}/token`])
      expect(await isTaken(w, stdout.toString()), String(stderr)).toBe(204)
    } finally {
      spawnSync('gpgconf', ['--homedir', home, '--kill', 'all'])
      rmSync(home, { recursive: true, force: true })
    }
  })
})

describe('starting an attempt', () => {
  test.each([
    [{ otp: 'x' }, /^otp must have 33 bytes/],
    [{ pgp_key: 'AAAA' }, /^pgp_key is not a usable OpenPGP public key: the text is not an OpenPGP key$/],
    [
      { pgp_key: '!' },
      /^pgp_key is not a usable OpenPGP public key: the key is neither base64 of .* nor an armoured key$/,
    ],
  ])('a start with %j is rejected and takes no slot', async (body, text) => {
    const w = await secondary()
    const reply = await w.start(body)
    expect([reply.status, reply.body.errors]).toEqual([400, [expect.stringMatching(text)]])
    expect((await w.show()).body).toMatchObject(IDLE_BODY)
  })

  test('with password and OpenPGP key the password is used, with a warning', async () => {
    const { body } = await (await secondary()).start({ otp: OTP, pgp_key: 'x' })
    expect([body.pgp_fingerprint, body.warnings]).toEqual([
      '',
      ['pgp_key was ignored, because the request has an otp'],
    ])
  })

  test('a start while an attempt is running is rejected', async () => {
    const w = await secondary()
    const { nonce } = (await w.start()).body
    const again = await w.start()
    expect([again.status, again.body.errors]).toEqual([
      400,
      [
        `${NAME} already in progress; continue the running attempt, or cancel it by DELETE sys/replication/dr/secondary/generate-operation-token/attempt`,
      ],
    ])
    expect((await w.show()).body.nonce).toBe(nonce)
  })
})

describe('submitting a share, in the order of the checks', () => {
  const other = Buffer.alloc(33, 1)
  test.each<[what: string, body: unknown, text: string | RegExp]>([
    ['none', { nonce: 'x' }, 'key is required'],
    ['an empty one', { key: '', nonce: 'x' }, 'key is required'],
    ['no nonce', { key: other.toString('hex') }, 'nonce is required'],
    ['neither hex nor base64', { key: 'zz', nonce: 'x' }, 'key must be a valid hex or base64 string'],
    ['15 bytes', { key: Buffer.alloc(15).toString('base64'), nonce: 'x' }, /shorter than minimum 16 bytes/],
    ['34 bytes', { key: Buffer.alloc(34).toString('base64'), nonce: 'x' }, /longer than maximum 33 bytes/],
    [
      'no attempt',
      { key: other.toString('hex'), nonce: 'x' },
      new RegExp(`^no ${NAME} in progress; start an attempt `),
    ],
  ])('%s: 400', async (_, body, text) => {
    const w = await secondary()
    const reply = await w.send('PUT', '/update', body)
    expect([reply.status, reply.body.errors]).toEqual([
      400,
      [typeof text === 'string' ? text : expect.stringMatching(text)],
    ])
  })

  test('a wrong nonce gets 400 with the right one, without changes', async () => {
    const w = await secondary()
    const { nonce } = (await w.start()).body
    const reply = await w.give('x', w.shares[0] as Buffer)
    expect([reply.status, reply.body.errors[0]]).toEqual([400, expect.stringContaining(`"${nonce}"`)])
    expect((await w.show()).body.progress).toBe(0)
  })

  test('a repeated share gets 400 and is not counted, in any notation', async () => {
    const w = await secondary()
    const { nonce } = (await w.start()).body
    const [a] = w.shares as [Buffer]
    await w.give(nonce, a)
    for (const text of [a.toString('hex'), a.toString('hex').toUpperCase(), a.toString('base64')])
      expect((await w.give(nonce, text)).status).toBe(400)
    expect((await w.show()).body.progress).toBe(1)
  })
})

describe('concurrent callers', () => {
  test('shares of two holders both count', async () => {
    const w = await secondary()
    const { nonce } = (await w.start()).body
    const replies = await Promise.all(w.shares.slice(0, 2).map(share => w.give(nonce, share)))
    expect(replies.map(({ body }) => body.progress).sort()).toEqual([1, 2])
  })

  test('the last share sent twice creates one token', async () => {
    const w = await secondary({ shares: 2, threshold: 2 })
    const { nonce } = (await w.start()).body
    const [a, b] = w.shares as [Buffer, Buffer]
    await w.give(nonce, a)
    const replies = await Promise.all([b, b, b].map(share => w.give(nonce, share)))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400])
  })

  test('two different last shares create one token', async () => {
    const w = await secondary({ shares: 3, threshold: 2 })
    const { nonce, otp } = (await w.start()).body
    await w.give(nonce, w.shares[0] as Buffer)
    const replies = await Promise.all(w.shares.slice(1).map(share => w.give(nonce, share)))
    const [encoded, ...more] = replies.flatMap(({ body }) => body.encoded_token || [])
    expect(more).toEqual([])
    expect(await isTaken(w, unmasked(encoded, otp))).toBe(204)
  })
})

describe('the cluster role during an operation-token ceremony', () => {
  test.each(['primary', 'disabled'] as const)(
    'on a cluster in mode %s an attempt may be read and cancelled, but neither started nor continued',
    async mode => {
      const w = await secondary()
      const { nonce } = (await w.start()).body
      await w.become({ mode })
      expect((await w.show()).body).toMatchObject(IDLE_BODY)
      for (const reply of [await w.start(), await w.give(nonce, w.shares[0] as Buffer)])
        expect([reply.status, reply.body.errors[0]]).toEqual([
          400,
          expect.stringContaining('not a DR secondary'),
        ])
      expect((await w.cancel()).status).toBe(204)
    },
  )

  test('an attempt started under another role does not block the slot', async () => {
    const w = await ceremonyWorld()
    await w.start()
    await w.become({ mode: 'secondary' })
    const at = '/sys/replication/dr/secondary/generate-operation-token/attempt'
    const refused = await w.start()
    expect([refused.status, refused.body.errors[0]]).toEqual([400, expect.stringContaining('path disabled')])
    expect((await w.send('PUT', at, {})).body).toMatchObject({ started: true, progress: 0 })
    await w.become({ mode: 'primary' })
    expect((await w.start()).body).toMatchObject({ started: true, progress: 0 })
  })

  test('an attempt for a root token is neither shown nor cancelled by the paths for operation tokens', async () => {
    const w = await ceremonyWorld()
    const { nonce } = (await w.start()).body
    const at = '/sys/replication/dr/secondary/generate-operation-token/attempt'
    expect((await w.send('GET', at)).body).toMatchObject(IDLE_BODY)
    expect((await w.send('DELETE', at)).status).toBe(204)
    expect((await w.show()).body).toMatchObject({ started: true, nonce })
  })

  test('callers in any namespace may read the attempt, and only callers in root may start one', async () => {
    const w = await secondary()
    const headers = { 'x-vault-namespace': 'team' }
    expect((await w.send('GET', '/attempt', undefined, { headers })).status).toBe(200)
    expect((await w.send('PUT', '/attempt', {}, { headers })).status).toBe(404)
    expect((await w.send('DELETE', '/attempt', undefined, { headers })).status).toBe(404)
  })

  test('the path without its last segment is the same endpoint', async () => {
    const w = await secondary()
    const { nonce } = (await w.send('POST', '', {})).body
    expect((await w.send('GET', '')).body.nonce).toBe(nonce)
    expect((await w.send('DELETE', '')).status).toBe(204)
    expect((await w.send('GET', '')).body).toMatchObject(IDLE_BODY)
  })
})

describe('limits of an anonymous ceremony', () => {
  test('the eleventh start in a minute gets 429, while authorised callers may cancel at any rate (CVE-2026-5807)', async () => {
    const w = await secondary()
    for (let tries = 0; tries < 10; tries++) {
      expect((await w.start()).status).toBe(200)
      expect((await w.cancel()).status).toBe(204)
    }
    const { status, retryAfter } = await w.start()
    expect([status, retryAfter]).toEqual([429, '60'])
    expect([(await w.cancel()).status, (await w.cancel()).status]).toEqual([204, 204])
  })

  test('an attempt expires after an hour without a share', async () => {
    const w = await secondary()
    const { nonce } = (await w.start()).body
    w.clock.ms += 3_599_000
    expect((await w.give(nonce, w.shares[0] as Buffer)).status).toBe(200)
    w.clock.ms += 3_600_000
    expect((await w.show()).body).toMatchObject(IDLE_BODY)
    expect((await w.start()).status).toBe(200)
  })
})

describe('anonymous callers of an open ceremony', () => {
  const stranger = (text = '') => ({
    gatewayId: 'g-1',
    headers: text ? { 'x-vault-token': text } : {},
  })
  const world = async () => {
    const items = ['root', 'default'].map(name => {
      const one = token({
        hash: tokenHashOf(`hvs.${name}`),
        policies: [name],
        createdAt: 1_800_000_000_000,
      })
      return item(key('token', accessorOfHash(one.hash)), one, 'r') as Item
    })
    const w = await ceremonyWorld(undefined, { of: 'operation', items })
    const start = (text?: string) => w.send('PUT', '/attempt', {}, stranger(text))
    const cancel = async (text?: string) =>
      (await w.send('DELETE', '/attempt', undefined, stranger(text))).status
    const give = (nonce: string, share: Buffer) =>
      w.send('PUT', '/update', { nonce, key: share.toString('hex') }, stranger())
    return { w, start, cancel, give }
  }

  test('ten anonymous starts a minute block neither authorised starts nor shares', async () => {
    const { w, start, cancel, give } = await world()
    for (let tries = 0; tries < 10; tries++) {
      expect((await start(tries % 2 ? 'hvs.default' : 'hvs.unknown')).status).toBe(200)
      expect(await cancel()).toBe(204)
    }
    expect((await start()).status).toBe(429)
    const { nonce } = (await start('hvs.root')).body
    const given = []
    for (const share of w.shares.slice(0, 3)) given.push((await give(nonce, share)).status)
    expect(given).toEqual([200, 200, 200])
    expect(w.generated()).toBeDefined()
  })

  test('anonymous and direct invocations have separate rate limits', async () => {
    const { w, start, cancel } = await world()
    for (let tries = 0; tries < 10; tries++) {
      await w.start()
      await w.cancel()
    }
    expect([(await w.start()).status, (await start('hvs.root')).status]).toEqual([429, 429])
    expect((await start()).status).toBe(200)
    expect(await cancel()).toBe(204)
  })

  test('anonymous callers may cancel an anonymous attempt until it has a share; authorised callers may cancel any attempt', async () => {
    const { w, start, cancel, give } = await world()
    const { nonce } = (await start()).body
    expect(await cancel()).toBe(204)
    const { nonce: next } = (await start()).body
    expect((await give(nonce, w.shares[0] as Buffer)).status).toBe(400)
    expect((await give(next, w.shares[0] as Buffer)).body.progress).toBe(1)
    const knowing = {
      ...stranger(),
      query: [['nonce', next]] as [string, string][],
    }
    expect((await w.send('DELETE', '/attempt', undefined, knowing)).status).toBe(403)
    expect([await cancel(), await cancel('hvs.default')]).toEqual([403, 403])
    expect((await w.show()).body.progress).toBe(1)
    expect(await cancel('hvs.root')).toBe(204)
  })

  test('anonymous callers may not cancel an attempt that an authorised caller started', async () => {
    const { w, start, cancel } = await world()
    await start('hvs.root')
    expect(await cancel()).toBe(403)
    expect(await cancel('hvs.root')).toBe(204)
    await w.start()
    expect(await cancel()).toBe(403)
    expect((await w.cancel()).status).toBe(204)
  })

  test('anonymous callers may cancel an attempt whose shares did not combine', async () => {
    const { start, cancel, give } = await world()
    const { nonce } = (await start()).body
    for (let share = 1; share <= 3; share++) await give(nonce, Buffer.alloc(33, share))
    expect(await cancel()).toBe(204)
  })
})

describe('a strict ceremony', () => {
  const policy = (text: string): Item => ({ ...key('policy', 'ops'), rev: 'r', data: { text } })
  const rules = `path "sys/replication/dr/secondary/generate-operation-token/*" { capabilities = ["update", "delete"] }`
  const strict = async () => {
    const hash = tokenHashOf('hvs.other')
    const other = token({
      hash,
      policies: ['default'],
      createdAt: 1_800_000_000_000,
    })
    const root = token({
      hash: tokenHashOf('hvs.root'),
      policies: ['root'],
      createdAt: 1_800_000_000_000,
    })
    const tokens = [other, root].map(one => item(key('token', accessorOfHash(one.hash)), one, 'r') as Item)
    const items = [policy(rules), ...tokens]
    const options = { of: 'operation' as const, strictCeremony: true, items }
    const w = await ceremonyWorld(undefined, options)
    const batch = token({
      type: 'batch',
      hash: '',
      policies: ['ops'],
      createdAt: w.clock.ms,
    })
    const prepared = `hvb.${await w.cipher.encryptToken(JSON.stringify(batch))}`
    const by = (text: string) => ({ gatewayId: 'g-1', headers: text ? { 'x-vault-token': text } : {} })
    return { w, prepared, by }
  }

  test('starting and cancelling require a token with the capability', async () => {
    const { w, prepared, by } = await strict()
    for (const text of ['', 'hvs.other', 'hvs.unknown']) {
      expect((await w.send('PUT', '/attempt', {}, by(text))).status).toBe(403)
      expect((await w.send('DELETE', '/attempt', undefined, by(text))).status).toBe(403)
    }
    expect((await w.send('PUT', '/attempt', {}, by(prepared))).status).toBe(200)
    expect((await w.send('DELETE', '/attempt', undefined, by(prepared))).status).toBe(204)
  })

  test('a root token of the primary, whose copy the secondary has, may start', async () => {
    const { w, by } = await strict()
    expect((await w.send('PUT', '/attempt', {}, by('hvs.root'))).status).toBe(200)
    expect((await w.send('DELETE', '/attempt', undefined, by('hvs.root'))).status).toBe(204)
  })

  test('a direct invocation may start, and anyone may submit shares and read the progress', async () => {
    const { w, by } = await strict()
    const { nonce } = (await w.start()).body
    expect((await w.send('GET', '/attempt', undefined, by(''))).status).toBe(200)
    const share = w.shares[0]?.toString('hex')
    expect((await w.send('PUT', '/update', { nonce, key: share }, by(''))).body.progress).toBe(1)
    expect((await w.cancel()).status).toBe(204)
  })
})

describe('secrets of the ceremony', () => {
  test('no secret is stored in plain text, neither in tables nor in the audit log', async () => {
    const w = await secondary({ shares: 2, threshold: 2 })
    const { nonce, otp } = (await w.start({})).body
    const [a, b] = w.shares as [Buffer, Buffer]
    await w.give(nonce, a)
    const secrets = [otp, a.toString('hex'), a.toString('base64'), b.toString('hex')]
    for (const secret of secrets) expect(JSON.stringify(w.stored.all())).not.toContain(secret)
    const { encoded_token } = (await w.give(nonce, b)).body
    const text = unmasked(encoded_token, otp)
    await isTaken(w, text)
    await w.send('POST', '/sys/decode-token', { encoded_token, otp })
    const everywhere = JSON.stringify([...w.stored.all(), ...w.audited])
    for (const secret of [...secrets, text, encoded_token]) expect(everywhere).not.toContain(secret)
    expect(JSON.stringify(w.audited)).not.toContain(nonce)
    expect(w.audited).toHaveLength(10)
    expect(w.audited[5]).toMatchObject({
      request: { data: { key: expect.stringMatching(/^hmac-/), nonce: expect.stringMatching(/^hmac-/) } },
      response: { data: { complete: true, progress: 2, encoded_token: expect.stringMatching(/^hmac-/) } },
    })
  })
})

describe('sys/decode-token', () => {
  test('sys/decode-token unmasks for every caller, in every role', async () => {
    const w = await secondary()
    for (const mode of ['secondary', 'primary', 'disabled'] as const) {
      await w.become({ mode })
      const given = { encoded_token: 'CRQQSg', otp: 'abcd' }
      expect((await w.send('POST', '/sys/decode-token', given)).body.data).toEqual({ token: 'hvs.' })
    }
  })

  test.each([
    [{ encoded_token: 'CRQQSg' }, 'otp is required'],
    [{ otp: 'abcd' }, 'encoded_token is required'],
    [{ encoded_token: 'CRQQSg', otp: 'abc' }, /^encoded_token and otp do not match/],
    [{ encoded_token: '!', otp: 'abcd' }, /^encoded_token and otp do not match/],
    [{ encoded_token: '/////w', otp: 'abcd' }, /^encoded_token and otp do not match/],
  ])('%j: 400', async (body, text) => {
    const reply = await (await secondary()).send('POST', '/sys/decode-token', body)
    expect([reply.status, reply.body.errors]).toEqual([
      400,
      [typeof text === 'string' ? text : expect.stringMatching(text)],
    ])
  })
})
