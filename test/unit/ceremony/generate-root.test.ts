import { decrypt, generateKey, readMessage, readPrivateKey } from 'openpgp'
import { describe, expect, test } from 'vitest'
import { usesOf } from '../../../shared/api/endpoint.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import { tokenHashOf } from '../../../shared/model/token.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { ceremonyWorld, IDLE_BODY, unmasked } from './support.ts'

const OTP = 'x'.repeat(33)

describe('generating a root token from recovery shares', () => {
  test.each([
    [1, 1],
    [2, 2],
    [5, 3],
    [255, 255],
  ])('with %i shares and threshold %i a token is created', async (shares, threshold) => {
    const w = await ceremonyWorld({ shares, threshold })
    const { nonce, otp } = (await w.start()).body
    const given = w.shares.slice(-threshold)
    for (const [index, share] of given.entries()) {
      const text = index % 2 ? share.toString('base64') : share.toString('hex')
      const { status, body } = await w.give(nonce, text)
      expect([status, body.progress, body.complete]).toEqual([200, index + 1, index + 1 === threshold])
      if (body.complete) {
        const token = unmasked(body.encoded_token, otp)
        expect(token).toMatch(/^hvs\.[0-9A-Za-z]{29}$/)
        expect(body.encoded_root_token).toBe(body.encoded_token)
        expect(w.tokens().map(item => item.data)).toMatchObject([
          { hash: tokenHashOf(token), policies: ['root'], ttl: 0, path: 'auth/token/root' },
        ])
      } else expect([body.encoded_token, w.tokens()]).toEqual(['', []])
    }
    expect((await w.show()).body).toMatchObject({ ...IDLE_BODY, required: threshold })
  })

  test("each step returns the progress in the fields that Vault's command line reads", async () => {
    const w = await ceremonyWorld()
    expect((await w.show()).body).toMatchObject(IDLE_BODY)
    const started = (await w.start({})).body
    expect(started).toMatchObject({
      ...IDLE_BODY,
      started: true,
      nonce: expect.stringMatching(/^[0-9a-f-]{36}$/),
      otp: expect.stringMatching(/^[0-9A-Za-z]{33}$/),
    })
    const { nonce } = started
    expect((await w.show()).body).toMatchObject({ ...IDLE_BODY, started: true, nonce })
    const [a, b, c] = w.shares as [Buffer, Buffer, Buffer]
    expect((await w.give(nonce, a)).body).toMatchObject({ ...IDLE_BODY, started: true, nonce, progress: 1 })
    expect((await w.give(nonce, b)).body.data).toMatchObject({ progress: 2 })
    expect((await w.show()).body).toMatchObject({ ...IDLE_BODY, started: true, nonce, progress: 2 })
    const { encoded_token } = (await w.give(nonce, c)).body
    expect(encoded_token).toMatch(/^[A-Za-z0-9+/]{44}$/)
    expect((await w.give(nonce, a)).body.errors).toEqual([
      'no root generation in progress; start an attempt by POST sys/generate-root/attempt',
    ])
  })

  test('a password of the caller is used and never returned', async () => {
    const w = await ceremonyWorld({ shares: 1, threshold: 1 })
    const started = await w.start({ otp: OTP, pgp_key: '' })
    expect([started.status, started.body.otp, started.body.warnings]).toEqual([200, '', null])
    const { body } = await w.give(started.body.nonce, w.shares[0] as Buffer)
    expect(unmasked(body.encoded_token, OTP)).toMatch(/^hvs\./)
  })

  test('an OpenPGP key encrypts the token, and its fingerprint is returned', async () => {
    const pair = await generateKey({ userIDs: [{ name: 'o' }], format: 'object' })
    const w = await ceremonyWorld({ shares: 1, threshold: 1 })
    const pgp_key = Buffer.from(pair.publicKey.write()).toString('base64')
    const { body: started } = await w.start({ pgp_key, otp: '' })
    const fingerprint = pair.publicKey.getFingerprint()
    expect(started).toMatchObject({ pgp_fingerprint: fingerprint, otp: '' })
    expect((await w.show()).body.pgp_fingerprint).toBe(fingerprint)
    const { body } = await w.give(started.nonce, w.shares[0] as Buffer)
    expect(body).toMatchObject({ complete: true, pgp_fingerprint: fingerprint })
    const message = await readMessage({
      binaryMessage: new Uint8Array(Buffer.from(body.encoded_token, 'base64')),
    })
    const decryptionKeys = await readPrivateKey({ binaryKey: pair.privateKey.write() })
    const { data } = await decrypt({ message, decryptionKeys })
    expect(w.tokens().map(item => item.data)).toMatchObject([{ hash: tokenHashOf(String(data)) }])
  })

  test('with password and OpenPGP key the password is used, with a warning', async () => {
    const { status, body } = await (await ceremonyWorld()).start({ otp: OTP, pgp_key: 'x' })
    expect([status, body.pgp_fingerprint]).toEqual([200, ''])
    expect(body.warnings).toEqual(['pgp_key was ignored, because the request has an otp'])
  })

  test.each([
    [{ otp: 'x' }, /^otp must have 33 bytes/],
    [{ otp: 'ü'.repeat(33) }, /^otp must have 33 bytes/],
    [{ pgp_key: 'AAAA' }, /^pgp_key is not a usable OpenPGP public key: the text is not an OpenPGP key$/],
  ])('a start with %j is rejected', async (body, text) => {
    const w = await ceremonyWorld()
    const reply = await w.start(body)
    expect([reply.status, reply.body.errors]).toEqual([400, [expect.stringMatching(text)]])
    expect((await w.show()).body.started).toBe(false)
  })

  test('a start with a private key is rejected, and the key is not stored', async () => {
    const { privateKey } = await generateKey({ userIDs: [{ name: 'o' }], format: 'object' })
    const w = await ceremonyWorld()
    const { status } = await w.start({ pgp_key: Buffer.from(privateKey.write()).toString('base64') })
    expect([status, w.slot()]).toEqual([400, undefined])
  })
})

describe('the slot of the ceremony', () => {
  test('a running attempt is not replaced', async () => {
    const w = await ceremonyWorld()
    const { nonce } = (await w.start()).body
    const again = await w.start()
    expect([again.status, again.body.errors]).toEqual([
      400,
      [
        'root generation already in progress; continue the running attempt, or cancel it by DELETE sys/generate-root/attempt',
      ],
    ])
    expect((await w.show()).body.nonce).toBe(nonce)
  })

  test('one of ten concurrent starts wins', async () => {
    const w = await ceremonyWorld()
    const replies = await Promise.all(Array.from({ length: 10 }, () => w.start()))
    expect(replies.map(reply => reply.status).sort()).toEqual([200, ...Array(9).fill(400)])
  })

  test('concurrent shares all count and create one token', async () => {
    const w = await ceremonyWorld()
    const { nonce } = (await w.start()).body
    const replies = await Promise.all(w.shares.slice(0, 3).map(share => w.give(nonce, share)))
    expect(replies.map(reply => reply.body.progress).sort()).toEqual([1, 2, 3])
    expect(replies.filter(reply => reply.body.complete)).toHaveLength(1)
    expect(w.tokens()).toHaveLength(1)
  })

  test('the last share sent twice at once creates one token', async () => {
    const w = await ceremonyWorld()
    const { nonce } = (await w.start()).body
    const [a, b, c] = w.shares as [Buffer, Buffer, Buffer]
    await w.give(nonce, a)
    await w.give(nonce, b)
    const replies = await Promise.all([c, c, c].map(share => w.give(nonce, share)))
    expect(replies.map(reply => reply.status).sort()).toEqual([200, 400, 400])
    expect(w.tokens()).toHaveLength(1)
  })

  test('cancelling discards the shares and always returns 204', async () => {
    const w = await ceremonyWorld()
    expect((await w.cancel()).status).toBe(204)
    const { nonce } = (await w.start()).body
    await w.give(nonce, w.shares[0] as Buffer)
    expect((await w.cancel()).status).toBe(204)
    expect((await w.cancel()).status).toBe(204)
    expect((await w.show()).body).toMatchObject(IDLE_BODY)
    expect(w.slot()?.data).not.toHaveProperty('attempt')
    expect((await w.start()).body.progress).toBe(0)
  })
})

describe('submitting a share of another recovery key', () => {
  test('the share is rejected without changes, and the other shares create the token', async () => {
    const w = await ceremonyWorld()
    const { nonce, otp } = (await w.start()).body
    const [a, b, c] = w.shares as [Buffer, Buffer, Buffer]
    const oneByteOff = Buffer.from(b.map((byte, at) => (at === 0 ? byte ^ 1 : byte)))
    for (const share of [a, b]) await w.give(nonce, share)
    const before = w.slot()
    for (const share of [...(await ceremonyWorld()).shares, oneByteOff, a.subarray(1)]) {
      const { status, body } = await w.give(nonce, share)
      expect([status, body.errors]).toEqual([
        400,
        [
          'given key is not a recovery share of this cluster; the attempt is unchanged; submit one of the most recently issued shares',
        ],
      ])
    }
    expect(w.slot()).toEqual(before)
    expect((await w.show()).body).toMatchObject({ started: true, nonce, progress: 2 })
    expect(unmasked((await w.give(nonce, c)).body.encoded_token, otp)).toMatch(/^hvs\./)
  })

  test('twenty shares of another key do not block the share holders', async () => {
    const w = await ceremonyWorld({ shares: 1, threshold: 1 })
    const { nonce } = (await w.start()).body
    for (let tries = 0; tries < 20; tries++)
      expect((await w.give(nonce, Buffer.alloc(32, tries))).status).toBe(400)
    expect((await w.give(nonce, w.shares[0] as Buffer)).body.complete).toBe(true)
  })

  test('a share of another key is a refusal in the audit log', async () => {
    const w = await ceremonyWorld()
    const { nonce } = (await w.start()).body
    await w.give(nonce, Buffer.alloc(33))
    expect(w.audited.at(-1)).toMatchObject({ error: 'invalid_request', reason: { why: 'recovery-shares' } })
  })

  test('a repeated share is not counted, in any notation', async () => {
    const w = await ceremonyWorld()
    const { nonce } = (await w.start()).body
    const [a] = w.shares as [Buffer]
    await w.give(nonce, a)
    const { status, body } = await w.give(nonce, a.toString('base64'))
    expect([status, body.errors[0]]).toEqual([400, expect.stringContaining('already been provided')])
    expect((await w.show()).body.progress).toBe(1)
  })

  test.each([
    [{}, 'key is required'],
    [{ key: '' }, 'key is required'],
    [{ key: ['aa', 'bb'] }, 'Field validation failed: key must be a string'],
    [{ key: 'zz' }, 'key must be a valid hex or base64 string'],
  ])('%j is not a share and is rejected first', async (body, text) => {
    const w = await ceremonyWorld()
    const reply = await w.send('POST', '/update', body)
    expect([reply.status, reply.body.errors]).toEqual([400, [text]])
  })
})

test('shares that do not combine to the key are an internal error and create no token', async () => {
  const w = await ceremonyWorld({ shares: 3, threshold: 2 })
  const stored = w.stored.at(key('recovery-key')) as Item<'recovery-key'>
  w.stored.put({ ...stored, data: { ...stored.data, verifier: 'of another key' } })
  const { nonce } = (await w.start()).body
  const [a, b] = w.shares as [Buffer, Buffer]
  await w.give(nonce, a)
  expect((await w.give(nonce, b)).status).toBe(500)
  expect(w.tokens()).toEqual([])
})

describe('limits of an anonymous ceremony', () => {
  test('the eleventh start in a minute gets 429 with retry-after', async () => {
    const w = await ceremonyWorld()
    for (let tries = 0; tries < 10; tries++) {
      expect((await w.start()).status).toBe(200)
      await w.cancel()
    }
    const { status, retryAfter } = await w.start()
    expect([status, Number(retryAfter)]).toEqual([429, 60])
    expect((await w.cancel()).status).toBe(204)
    w.clock.ms += 60_000
    expect((await w.start()).status).toBe(200)
  })

  test('an attempt expires after an hour without a share', async () => {
    const w = await ceremonyWorld()
    const { nonce } = (await w.start()).body
    const [a, b] = w.shares as [Buffer, Buffer]
    w.clock.ms += 3_599_000
    expect((await w.give(nonce, a)).status).toBe(200)
    w.clock.ms += 3_599_000
    expect((await w.show()).body.progress).toBe(1)
    w.clock.ms += 1_000
    expect((await w.show()).body).toMatchObject(IDLE_BODY)
    expect((await w.give(nonce, b)).body.errors).toEqual([
      'no root generation in progress; start an attempt by POST sys/generate-root/attempt',
    ])
    expect((await w.start()).status).toBe(200)
  })
})

describe('secrets of an attempt', () => {
  test('the secrets are encrypted in the slot and deleted after the attempt', async () => {
    const w = await ceremonyWorld()
    const { nonce } = (await w.start({ otp: OTP })).body
    const [a, b, c] = w.shares as [Buffer, Buffer, Buffer]
    await w.give(nonce, a)
    await w.give(nonce, b)
    const before = JSON.stringify(w.stored.all())
    for (const secret of [OTP, a.toString('hex'), b.toString('hex'), a.toString('base64')])
      expect(before).not.toContain(secret)
    const secrets = w.slot()?.data.attempt?.secrets ?? ''
    expect(secrets).toMatch(/^1\./)
    const { body } = await w.give(nonce, c)
    const after = JSON.stringify(w.stored.all())
    expect(after).not.toContain(secrets)
    expect(after).not.toContain(unmasked(body.encoded_token, OTP))
    expect(w.slot()?.data).toEqual({
      strangerStarts: [],
      authorisedStarts: [w.clock.ms],
      last: { nonce, outcome: 'completed' },
    })
  })

  test('secrets of an earlier attempt are not accepted for this one', async () => {
    const w = await ceremonyWorld()
    const first = (await w.start()).body
    await w.give(first.nonce, w.shares[0] as Buffer)
    const old = w.slot()?.data.attempt?.secrets
    await w.cancel()
    const { nonce } = (await w.start()).body
    const slot = w.slot()
    if (!slot?.data.attempt || !old) throw new Error('an attempt is in progress')
    const swapped = { ...slot, data: { ...slot.data, attempt: { ...slot.data.attempt, secrets: old } } }
    w.stored.put(swapped)
    expect((await w.give(nonce, w.shares[1] as Buffer)).status).toBe(500)
  })

  test('the audit log contains HMACs of secrets, and caller and progress in plain text', async () => {
    const w = await ceremonyWorld({ shares: 2, threshold: 2 })
    const { nonce, otp } = (await w.start()).body
    const given = w.shares as [Buffer, Buffer]
    await w.give(nonce, given[0])
    const { body } = await w.give(nonce, given[1].toString('base64'))
    const log = JSON.stringify(w.audited)
    const token = unmasked(body.encoded_token, otp)
    for (const secret of [
      otp,
      token,
      body.encoded_token,
      given[0].toString('hex'),
      given[1].toString('base64'),
    ])
      expect(log).not.toContain(secret)
    expect(w.audited).toHaveLength(6)
    expect(w.audited.at(-1)).toMatchObject({
      audit: 'response',
      request: {
        path: 'sys/generate-root/update',
        operation: 'write',
        remote_address: '192.0.2.1',
        data: { nonce: expect.stringMatching(/^hmac-sha256:/) },
      },
      response: {
        data: { complete: true, progress: 2, encoded_token: expect.stringMatching(/^hmac-sha256:/) },
      },
    })
  })

  test('only functions of ceremonies can read the slot', () => {
    const reaching = endpointGroups.filter(group => usesOf(group).includes('ceremony'))
    expect(reaching.map(({ name }) => name)).toEqual(['ceremony', 'generate-root'])
  })
})
