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

// One new key, verified before the old one goes; one rotation at a time; what AWS refuses changes nothing.
// The new key is stored, which was forgotten in 2021.

afterEach(async () => {
  await storage.reset()
  await aws.clearFaults()
})

/** A new key is not made before it is released. */
async function creationHeld() {
  const { id } = await aws.fault({ service: 'iam', action: 'CreateAccessKey', kind: 'hold' })
  return {
    begun: () => eventually(async () => (await aws.held({ id })).calls > 0),
    release: () => aws.release({ id }),
  }
}

describe('a rotation', () => {
  test('gives the ID of the new key, never its secret; it is stored, works, and the old one is gone', async () => {
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

  test('uses the new key before it deletes the old one', async () => {
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

  test('whose new key AWS does not accept in time keeps the old one to fall back on; the hourly run ends it', async () => {
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

  test('whose old key cannot be deleted is 200 with a warning that names it; the next one begins with it', async () => {
    const one = await rotating()
    await aws.fault({ service: 'iam', action: 'DeleteAccessKey', kind: 'error', status: 500 })
    const reply = await rotate(one)
    expect(reply.status, reply.text).toBe(200)
    expect(reply.body.warnings[0]).toContain(`the old access key ${one.first} could not be deleted`)
    const next = await rotate(one)
    expect(next.status, next.text).toBe(200)
    expect(await keysOf(one)).toEqual([next.body.data.access_key])
  })

  test('is one at a time', async () => {
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

  test('right behind another one works with what that one stored', async () => {
    const one = await rotating()
    const replies = await Promise.all(Array.from({ length: 6 }, () => rotate(one)))
    for (const { status, body } of replies)
      expect(status === 200 ? [] : body.errors).toEqual(
        status === 200 ? [] : ['a rotation is already running'],
      )
    expect(await keysOf(one)).toEqual([await configured(one)])
  })

  test('during which the configuration is changed is refused, and leaves no key behind', async () => {
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

describe('what is refused changes nothing', () => {
  test.each<[string, object | undefined, string]>([
    ['no configuration', undefined, 'client credentials have not been configured'],
    ['no access key', { max_retries: 1 }, 'no access key to rotate'],
    ['no secret key', { access_key: 'AKIAIOSFODNN7EXAMPLE' }, 'no secret key to rotate'],
  ])('%s', async (_name, config, text) => {
    const { path } = await freshMount()
    if (config) await done('POST', `${path}/config/client`, config)
    const reply = await api('POST', `${path}/config/rotate-root`)
    expect([reply.status, reply.body.errors]).toEqual([400, [text]])
  })

  test('a user with a second key: it is named', async () => {
    const one = await rotating()
    const other = await aws.createAccessKey({ account: one.account, user: one.user })
    const reply = await rotate(one)
    expect(reply.status).toBe(400)
    expect(reply.body.errors[0]).toContain(other.accessKeyId)
    expect(await keysOf(one)).toEqual([one.first, other.accessKeyId])
  })

  test('the root user of an account', async () => {
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

  test('no permission to make keys; a key that somebody makes next is not taken for a lost one', async () => {
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
  ])('an IAM that is %s', async (_name, fault, status) => {
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
