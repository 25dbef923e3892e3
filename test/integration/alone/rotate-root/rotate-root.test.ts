import { afterEach, describe, expect, test } from 'vitest'
import {
  configured,
  isServed,
  keysOf,
  rotate,
  rotating,
  setStatus,
} from '../../../support/requests/rotation.ts'
import {
  api,
  aws,
  done,
  eventually,
  freshMount,
  invoke,
  settled,
  storage,
} from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'

withoutWaiting()

// A rotation creates an access key, verifies it, then deletes the old key. Only one rotation runs at a time.
// When AWS rejects a call, nothing changes. The stored configuration names the new key, which a version of
// 2021 failed to store.

afterEach(async () => {
  await storage.reset()
  await aws.clearFaults()
})

/** Holds CreateAccessKey until the test releases it. */
async function creationHeld() {
  const { id } = await aws.fault({ service: 'iam', action: 'CreateAccessKey', kind: 'hold' })
  return {
    begun: () => eventually(async () => (await aws.held({ id })).calls > 0),
    release: () => aws.release({ id }),
  }
}

describe('a rotation of the access key', () => {
  test('returns the ID of the new key without its secret, stores the key, and deletes the old one', async () => {
    const one = await rotating()
    const reply = await rotate(one)
    expect(reply.status, reply.text).toBe(200)
    expect(Object.keys(reply.body.data)).toEqual(['access_key'])
    expect(reply.body.data.access_key).not.toBe(one.first)
    expect(reply.body.warnings).toBeNull()
    expect(await configured(one)).toBe(reply.body.data.access_key)
    expect(await keysOf(one)).toEqual([reply.body.data.access_key])
    await isServed(one)
  })

  test('uses the new access key before it deletes the old access key', async () => {
    const one = await rotating()
    const unknown = { kind: 'error', status: 403, code: 'InvalidClientTokenId' } as const
    await aws.fault({ service: 'iam', action: 'GetUser', skip: 1, times: 2, ...unknown })
    await aws.resetCalls()
    const { access_key: fresh } = (await done('POST', `${one.path}/config/rotate-root`)).body.data
    const calls = (await aws.calls()).calls.filter(call => call.account === one.account)
    const signedBy = (accessKey: string) => (call: (typeof calls)[number]) =>
      call.headers['authorization']?.includes(accessKey) && call.status === 200
    const verified = calls.findIndex(signedBy(fresh))
    const deleted = calls.findIndex(call => call.action === 'DeleteAccessKey')
    expect(verified).toBeGreaterThan(0)
    expect(deleted).toBeGreaterThan(verified)
    expect(await keysOf(one)).toEqual([fresh])
  })

  test('keeps the old access key when AWS does not accept the new key in time, and the hourly round deletes the old key later', async () => {
    const one = await rotating()
    const refused = { kind: 'error', status: 403, code: 'InvalidClientTokenId' } as const
    await aws.fault({ service: 'iam', action: 'GetUser', skip: 1, times: 99, ...refused })
    const reply = await rotate(one)
    expect(reply.status, reply.text).toBe(200)
    const { access_key: fresh } = reply.body.data
    expect(reply.body.warnings[0]).toContain(`the old access key ${one.first} was kept`)
    expect(await keysOf(one)).toEqual([one.first, fresh])
    await aws.clearFaults()
    await setStatus(one, fresh, 'Inactive')
    await isServed(one, 'by the old key')
    await setStatus(one, fresh, 'Active')
    await invoke('on-tidy-schedule')
    await settled()
    expect(await keysOf(one)).toEqual([fresh])
    await isServed(one, 'by the new key')
  })

  test('answers 200 with a warning when the old access key cannot be deleted, and the next rotation deletes that key', async () => {
    const one = await rotating()
    await aws.fault({ service: 'iam', action: 'DeleteAccessKey', kind: 'error', status: 500 })
    const reply = await rotate(one)
    expect(reply.status, reply.text).toBe(200)
    expect(reply.body.warnings[0]).toContain(`the old access key ${one.first} could not be deleted`)
    const next = await rotate(one)
    expect(next.status, next.text).toBe(200)
    expect(await keysOf(one)).toEqual([next.body.data.access_key])
  })

  test('is rejected while another rotation runs', async () => {
    const one = await rotating()
    const creation = await creationHeld()
    let answered = 0
    const rotations = Array.from({ length: 3 }, () => rotate(one).finally(() => answered++))
    await creation.begun()
    await eventually(async () => answered === 2)
    await creation.release()
    const replies = await Promise.all(rotations)
    expect(replies.map(reply => reply.status).sort()).toEqual([200, 400, 400])
    expect(replies.find(reply => reply.status === 400)?.body.errors).toEqual([
      'a rotation is already running',
    ])
    expect(await keysOf(one)).toEqual([await configured(one)])
  })

  test('reads the key that the previous rotation has just stored', async () => {
    const one = await rotating()
    const replies = await Promise.all(Array.from({ length: 6 }, () => rotate(one)))
    for (const { status, body } of replies)
      expect(status === 200 ? [] : body.errors).toEqual(
        status === 200 ? [] : ['a rotation is already running'],
      )
    expect(await keysOf(one)).toEqual([await configured(one)])
  })

  test('is rejected when the configuration changes during the rotation, and deletes its new access key', async () => {
    const one = await rotating()
    const creation = await creationHeld()
    const rotation = rotate(one)
    await creation.begun()
    await done('POST', `${one.path}/config/client`, { max_retries: 7 })
    await creation.release()
    const reply = await rotation
    expect(reply.status).toBe(400)
    expect(reply.body.errors[0]).toContain('changed during the rotation')
    expect(await keysOf(one)).toEqual([one.first])
    expect((await done('GET', `${one.path}/config/client`)).body.data).toMatchObject({
      access_key: one.first,
      max_retries: 7,
    })
    expect((await rotate(one)).status).toBe(200)
  })
})

describe('a rejected rotation changes nothing', () => {
  test.each<[string, object | undefined, string]>([
    ['without a configuration', undefined, 'client credentials have not been configured'],
    ['without an access key', { max_retries: 1 }, 'no access key to rotate'],
    ['without a secret key', { access_key: 'AKIAIOSFODNN7EXAMPLE' }, 'no secret key to rotate'],
  ])('%s', async (_name, config, text) => {
    const { path } = await freshMount()
    if (config) await done('POST', `${path}/config/client`, config)
    const reply = await api('POST', `${path}/config/rotate-root`)
    expect([reply.status, reply.body.errors]).toEqual([400, [text]])
  })

  test('of a user with a second key, which the error names', async () => {
    const one = await rotating()
    const other = await aws.createAccessKey({ account: one.account, user: one.user })
    const reply = await rotate(one)
    expect(reply.status).toBe(400)
    expect(reply.body.errors[0]).toContain(other.accessKeyId)
    expect(await keysOf(one)).toEqual([one.first, other.accessKeyId])
  })

  test("of an account's root user", async () => {
    const one = await rotating()
    const root = await aws.rootKey({ account: one.account })
    await done('POST', `${one.path}/config/client`, {
      access_key: root.accessKeyId,
      secret_key: root.secretAccessKey,
    })
    const reply = await rotate(one)
    expect(reply.status).toBe(400)
    expect(reply.body.errors[0]).toContain('root user')
  })

  test('without permission to create keys, and the next rotation does not delete a key that was created by hand', async () => {
    const one = await rotating()
    const denial = {
      principalArn: `arn:aws:iam::${one.account}:user/${one.user}`,
      action: 'iam:CreateAccessKey',
    }
    await aws.deny(denial)
    expect((await rotate(one)).status).toBe(400)
    await aws.allow(denial)
    const byHand = await aws.createAccessKey({ account: one.account, user: one.user })
    const reply = await rotate(one)
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(byHand.accessKeyId)])
    expect(await keysOf(one)).toEqual([one.first, byHand.accessKeyId])
  })

  test.each<[string, Parameters<typeof aws.fault>[0], number]>([
    ['throttled', { kind: 'throttle', times: 9 }, 503],
    ['broken', { kind: 'error', status: 500, times: 9 }, 502],
    [
      'hostile',
      { kind: 'answer', answer: { status: 200, contentType: 'text/xml', body: '<a/>' }, times: 9 },
      0,
    ],
    ['silent', { kind: 'delay', delayMs: 6000, times: 1 }, 503],
  ])('while IAM is %s', async (_name, fault, status) => {
    const one = await rotating()
    await aws.fault({ service: 'iam', ...fault })
    const reply = await rotate(one)
    if (status > 0) expect(reply.status, reply.text).toBe(status)
    expect([400, 502, 503]).toContain(reply.status)
    expect(reply.body.errors[0]).toMatch(/\w/)
    await aws.clearFaults()
    expect(await keysOf(one)).toEqual([one.first])
    expect((await rotate(one)).status).toBe(200)
  })
})
