import { decrypt, generateKey, readMessage, readPrivateKey } from 'openpgp'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { removeItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import { raw, tableStore } from '../../../support/tables/store.ts'

/** A clock `ahead` milliseconds after the system's time, or after `stoppedAt`. */
const clock = {
  ahead: 0,
  stoppedAt: undefined as number | undefined,
  now: (): number => (clock.stoppedAt ?? Date.now()) + clock.ahead,
  sleep: async () => undefined,
}
let host: Awaited<ReturnType<typeof ownHost>>
beforeAll(async () => {
  host = await ownHost({ clock })
})
afterEach(async () => {
  clock.stoppedAt = undefined
  // deletes the attempt and the count of recent attempts
  await tableStore(host).commit(removeItem(key('ceremony')))
})
// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
type Body = any
const ask = async (method: string, path: string, body?: unknown): Promise<[number, Body]> => {
  const reply = await host.api(method, `/sys/generate-root${path}`, body, { token: '' })
  return [reply.status, reply.body]
}
/** Invokes the function with an event, as on AWS. */
const invoke = async (method: string, path: string, body?: unknown): Promise<[number, Body]> => {
  const answer = await host.invoke('generate-root', {
    version: '2.0',
    rawPath: `/v1/sys/generate-root${path}`,
    requestContext: { http: { method } },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { statusCode, body: text } = answer.body
  return [statusCode, text === '' ? undefined : JSON.parse(text)]
}
const give = (nonce: string, share = '') => ask('PUT', '/update', { nonce, key: share })
const unmasked = (encoded: string, otp: string): string =>
  Buffer.from(Buffer.from(encoded, 'base64').map((byte, at) => byte ^ otp.charCodeAt(at))).toString()

async function worksAsRoot(token: string): Promise<void> {
  const { body } = await host.api('GET', '/auth/token/lookup-self', undefined, { token })
  expect(body.data).toMatchObject({ policies: ['root'], ttl: 0, orphan: true, path: 'auth/token/root' })
  expect((await host.api('GET', '/sys/auth', undefined, { token })).status).toBe(200)
}

describe('generating a root token', () => {
  test.each(['', '/attempt'])(
    'with an OTP succeeds with three shares, at sys/generate-root%s',
    async path => {
      const [status, { nonce, otp, required, otp_length }] = await ask('POST', path, {})
      expect([status, required, otp_length, otp.length]).toEqual([200, 3, 33, 33])
      const [a, b, c] = host.recovery_keys
      expect((await give(nonce, a))[1]).toMatchObject({ progress: 1, complete: false })
      const base64 = Buffer.from(b ?? '', 'hex').toString('base64')
      expect((await give(nonce, base64))[1]).toMatchObject({ progress: 2, complete: false })
      expect((await ask('GET', path))[1]).toMatchObject({ started: true, nonce, progress: 2, otp: '' })
      const [, done] = await give(nonce, c)
      expect(done).toMatchObject({ progress: 3, complete: true })
      await worksAsRoot(unmasked(done.encoded_token, otp))
      expect((await ask('GET', path))[1]).toMatchObject({ started: false, progress: 0, nonce: '' })
    },
  )

  test('with an OpenPGP key succeeds with three shares', async () => {
    const pair = await generateKey({ userIDs: [{ name: 'o' }], format: 'object' })
    const pgp_key = Buffer.from(pair.publicKey.write()).toString('base64')
    const [, { nonce, pgp_fingerprint }] = await ask('PUT', '/attempt', { pgp_key, otp: '' })
    expect(pgp_fingerprint).toBe(pair.publicKey.getFingerprint())
    const [, , c, d, e] = host.recovery_keys
    for (const share of [c, d]) await give(nonce, share)
    const [, { encoded_root_token }] = await give(nonce, e)
    const message = await readMessage({
      binaryMessage: new Uint8Array(Buffer.from(encoded_root_token, 'base64')),
    })
    const decryptionKeys = await readPrivateKey({ binaryKey: pair.privateKey.write() })
    await worksAsRoot(String((await decrypt({ message, decryptionKeys })).data))
  })

  test('from concurrent shares returns the token once', async () => {
    const [, { nonce, otp }] = await ask('PUT', '/attempt', {})
    const replies = await Promise.all(host.recovery_keys.slice(0, 3).map(share => give(nonce, share)))
    expect(replies.map(([status]) => status)).toEqual([200, 200, 200])
    const [whole, ...others] = replies.map(([, body]) => body.encoded_token).filter(text => text !== '')
    expect(others).toEqual([])
    await worksAsRoot(unmasked(whole, otp))
  })

  test('rejects a foreign share, and the attempt continues', async () => {
    const [, { nonce, otp }] = await ask('PUT', '/attempt', {})
    const [a, b, c] = host.recovery_keys
    const wrong = `${c?.startsWith('0') ? '1' : '0'}${c?.slice(1)}`
    for (const share of [a, b]) await give(nonce, share)
    const [status, body] = await give(nonce, wrong)
    expect([status, body.errors[0]]).toEqual([400, expect.stringContaining('not a recovery share')])
    expect((await ask('GET', '/attempt'))[1]).toMatchObject({ started: true, nonce, progress: 2 })
    const [, done] = await give(nonce, c)
    await worksAsRoot(unmasked(done.encoded_token, otp))
  })

  test('allows one attempt at a time; DELETE ends the attempt and always answers 204', async () => {
    expect((await ask('DELETE', '/attempt'))[0]).toBe(204)
    const starts = await Promise.all([1, 2, 3].map(() => ask('PUT', '/attempt', {})))
    expect(starts.map(([status]) => status).sort()).toEqual([200, 400, 400])
    expect((await ask('DELETE', '/attempt'))[0]).toBe(204)
    expect((await ask('GET', '/attempt'))[1]).toMatchObject({ started: false })
    expect((await ask('PUT', '/attempt', {}))[0]).toBe(200)
  })

  test('is limited to ten attempts, then answers 429 with Retry-After (CVE-2026-5807, HCSEC-2026-08)', async () => {
    for (let tries = 0; tries < 10; tries++) {
      expect((await ask('PUT', '/attempt', {}))[0]).toBe(200)
      await ask('DELETE', '/attempt')
    }
    const reply = await host.api('PUT', '/sys/generate-root/attempt', {}, { token: '' })
    expect(reply.status).toBe(429)
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
    expect(reply.headers['x-error-code']).toBe('too_many_requests')
  })

  test('expires an hour after the last share', async () => {
    // on a loaded machine the remaining second could pass before the answer
    clock.stoppedAt = Date.now()
    const [, { nonce }] = await ask('PUT', '/attempt', {})
    clock.ahead += 3_599_000
    expect((await ask('GET', '/attempt'))[1]).toMatchObject({ started: true, nonce })
    expect((await give(nonce, host.recovery_keys[0]))[1]).toMatchObject({ progress: 1 })
    clock.ahead += 3_600_000
    expect((await ask('GET', '/attempt'))[1]).toMatchObject({ started: false, nonce: '', progress: 0 })
    expect((await give(nonce, host.recovery_keys[1]))[1].errors).toEqual([
      'no root generation in progress; start an attempt by POST sys/generate-root/attempt',
    ])
    expect((await ask('PUT', '/attempt', {}))[0]).toBe(200)
  })

  test('stores the attempt with a TTL, so DynamoDB deletes the attempt', async () => {
    await ask('PUT', '/attempt', {})
    const { expires, ttl } = (await raw(host, key('ceremony'))) as { expires: number; ttl: number }
    expect(Math.abs(expires - clock.now() / 1000 - 3600)).toBeLessThan(5)
    expect(ttl).toBe(expires + 3600)
  })

  test.each([
    ['PATCH', '/attempt', 415, 415],
    ['LIST', '/attempt', 405, 404],
    ['GET', '/update', 405, 404],
    ['DELETE', '/update', 405, 404],
  ])('rejects %s %s with %i in the function and %i at the API', async (method, path, own, routed) => {
    expect((await invoke(method, path))[0]).toBe(own)
    expect((await host.api(method, `/sys/generate-root${path}`)).status).toBe(routed)
  })
})

test('the generate-root function handles invocation events as on AWS', async () => {
  const [, { nonce, otp }] = await invoke('POST', '/attempt')
  const [a, b, c] = host.recovery_keys
  expect((await invoke('POST', '/update', { nonce, key: [a, b, c] }))[0]).toBe(400)
  expect((await invoke('POST', '/update', { nonce, key: [a, b, c].join(',') }))[0]).toBe(400)
  for (const share of [a, b]) expect((await invoke('POST', '/update', { nonce, key: share }))[0]).toBe(200)
  expect((await invoke('GET', '/attempt'))[1]).toMatchObject({ progress: 2 })
  const [, { encoded_token }] = await invoke('POST', '/update', { nonce, key: c })
  await worksAsRoot(unmasked(encoded_token, otp))
  expect((await invoke('DELETE', '/attempt'))[0]).toBe(204)
})

test('a DR secondary rejects root generation', async () => {
  const { store, commit } = tableStore(host)
  const [record] = await store.read([key('cluster')])
  if (!record) throw new Error('the cluster is initialised')
  await commit({
    kind: 'put',
    key: record,
    data: { ...record.data, mode: 'secondary' },
    expected: 'any',
    times: {},
  })
  const [status, body] = await ask('PUT', '/attempt', {})
  await commit({ kind: 'put', key: record, data: record.data, expected: 'any', times: {} })
  expect([status, body.errors]).toEqual([
    400,
    [
      'path disabled: this cluster is a DR secondary; send the request to its primary (GET sys/replication/dr/status shows it)',
    ],
  ])
})
