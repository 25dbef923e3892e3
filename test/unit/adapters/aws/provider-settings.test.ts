import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { buildCallSettings } from '../../../../shared/adapters/aws/provider-settings.ts'

const HOUR = 3_600_000
const client = { version: 'v', maxRetries: -1, endpoint: '', iamEndpoint: '', stsEndpoint: '', stsRegion: '' }

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** Returns credentials as a client gets them, and counts how often they are fetched. */
function world(endsAfter?: number) {
  let asked = 0
  let fails = false
  const { credentials } = buildCallSettings('ec2', client, 'eu-west-1', async () => {
    asked += 1
    if (fails) throw new Error('nobody answers')
    const expiration = endsAfter === undefined ? {} : { expiration: new Date(Date.now() + endsAfter) }
    return { accessKeyId: `key ${asked}`, secretAccessKey: 'secret', ...expiration }
  })
  return {
    key: async () => (await credentials()).accessKeyId,
    fail: (now: boolean) => {
      fails = now
    },
  }
}

test('credentials with an expiry are fetched once, and again five minutes before they expire', async () => {
  const { key } = world(HOUR)
  const started = Date.now()
  expect(await Promise.all([key(), key()])).toEqual(['key 1', 'key 1'])
  vi.setSystemTime(started + HOUR - 300_001)
  expect(await key()).toBe('key 1')
  vi.setSystemTime(started + HOUR - 300_000)
  expect(await key()).toBe('key 2')
})

test('credentials without an expiry are fetched each time, because the runtime may replace them', async () => {
  const { key } = world()
  expect([await key(), await key()]).toEqual(['key 1', 'key 2'])
})

test('a failure is not cached', async () => {
  const { key, fail } = world(HOUR)
  fail(true)
  await expect(key()).rejects.toThrow('nobody answers')
  fail(false)
  expect([await key(), await key()]).toEqual(['key 2', 'key 2'])
})
